// SPDX-License-Identifier: BSD-3-Clause
#include "tune/profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace strata::tune {
namespace {

using Names = std::vector<std::string>;

/// A profile with racks (and islands) of these hosts, each a word of one letter per host: "ab cd".
Profile profile_with(const std::vector<std::string>& levels) {
  Profile profile;
  for (const std::string& text : levels) {
    HostLevel level{profile.levels.empty() ? "rack" : "island", {HostGroup{}}};
    for (const char c : text)
      if (c == ' ')
        level.groups.emplace_back();
      else
        level.groups.back().hosts.push_back(std::string(1, c));
    profile.levels.push_back(level);
  }
  for (char host = 'a'; host <= 'h'; ++host)
    profile.hosts.push_back(std::string(1, host));
  return profile;
}

/// Levels as "rack:0011 cluster:0000", or the refusal. `nodes`: the memory group of each rank as a digit; `hosts`: its
/// host as a letter.
std::string levels_of(const Profile& profile, const std::string& nodes, const std::string& hosts) {
  std::vector<topo::RankFacts> facts;
  for (const char node : nodes)
    facts.push_back({.memory_group = node - '0'});
  Names names;
  for (const char host : hosts)
    names.push_back(std::string(1, host));
  const auto hierarchy = hierarchy_with(profile, facts, names);
  if (!hierarchy) return hierarchy.error().message;
  const auto sound = topo::check(*hierarchy);
  EXPECT_TRUE(sound) << sound.error().message;
  std::string text;
  for (const topo::Level& level : hierarchy->levels)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", level.name,
                        fmt::join(level.group_of.begin(), level.group_of.end(), ""));
  return text;
}

TEST(HierarchyWithAProfile, HasTheRacksBetweenTheNodesAndTheWhole) {
  EXPECT_EQ(levels_of(profile_with({"ac bd"}), "00112233", "aabbccdd"), "node:00112233 rack:00110011 cluster:00000000");
}

TEST(HierarchyWithAProfile, HasRacksOfRanksThatAreAloneOnTheirNodes) {
  EXPECT_EQ(levels_of(profile_with({"ac bd"}), "0123", "abcd"), "rack:0101 cluster:0000");
}

TEST(HierarchyWithAProfile, HasIslandsAroundTheRacks) {
  EXPECT_EQ(levels_of(profile_with({"ab cd ef gh", "abcd efgh"}), "01234567", "abcdefgh"),
            "rack:00112233 island:00001111 cluster:00000000");
}

TEST(HierarchyWithAProfile, OfUnevenRacksIsSound) {
  EXPECT_EQ(levels_of(profile_with({"abc d"}), "001123", "aabbcd"), "node:001123 rack:000001 cluster:000000");
}

TEST(HierarchyWithAProfile, HasNoLevelThatJoinsNothing) {
  EXPECT_EQ(levels_of(profile_with({"abcd"}), "0123", "abcd"), "cluster:0000") << "all nodes in one rack";
  EXPECT_EQ(levels_of(profile_with({"a b c d"}), "0123", "abcd"), "cluster:0000") << "each node a rack";
  EXPECT_EQ(levels_of(profile_with({"ab cd ef gh"}), "0123", "aceg"), "cluster:0000") << "one node of each rack";
  EXPECT_EQ(levels_of(profile_with({"ab cd", "ab cd"}), "0123", "abcd"), "rack:0011 cluster:0000")
      << "islands of one rack";
  EXPECT_EQ(levels_of(profile_with({}), "0011", "aabb"), "node:0011 cluster:0000");
}

TEST(HierarchyWithAProfile, OfOneNodeOrOneRankHasNoRack) {
  EXPECT_EQ(levels_of(profile_with({"ab cd"}), "000", "aaa"), "node:000");
  EXPECT_EQ(levels_of(profile_with({"ab cd"}), "0", "a"), "");
}

TEST(HierarchyWithAProfile, KeepsTheMemoryGroupsOfAHostInItsRack) {
  EXPECT_EQ(levels_of(profile_with({"ab cd"}), "00112345", "aaaabbcd"), "node:00112345 rack:00000011 cluster:00000000");
  EXPECT_EQ(levels_of(profile_with({"a b"}), "0123", "aabb"), "cluster:0000") << "a host is no rack";
}

TEST(HierarchyWithAProfile, NamesTheHostsThatTheProfileLacks) {
  EXPECT_EQ(levels_of(profile_with({"ab cd"}), "0123", "axyb"), "the profile lacks 2 of the 4 hosts: x,y");
  Names names;
  std::vector<topo::RankFacts> facts;
  for (int rank = 0; rank < 12; ++rank) {
    names.push_back(fmt::format("n{}", rank));
    facts.push_back({.memory_group = rank});
  }
  const auto hierarchy = hierarchy_with(profile_with({}), facts, names);
  ASSERT_FALSE(hierarchy);
  EXPECT_EQ(hierarchy.error().message, "the profile lacks 12 of the 12 hosts: n[0-11]");
}

TEST(HierarchyWithAProfile, RefusesHostNamesThatDivideAMemoryGroup) {
  EXPECT_EQ(levels_of(profile_with({"ab cd"}), "0012", "acbd"),
            "the profile divides ranks 0,1, which are one node, among several groups of level rack");
}

TEST(HierarchyWithAProfile, RefusesIslandsThatDivideARack) {
  EXPECT_EQ(levels_of(profile_with({"ab cd", "ac bd"}), "0123", "abcd"),
            "the profile divides ranks 0,1, which are one rack, among several groups of level island");
}

TEST(HierarchyWithAProfile, RefusesAHostForAnotherNumberOfRanks) {
  EXPECT_EQ(levels_of(profile_with({}), "0123", "ab"), "4 ranks have facts, and 2 a host");
}

TEST(ProfileOfSomeHosts, HasNothingOfOthers) {
  Profile whole = profile_with({"ab cd ef", "abcd ef"});
  whole.hosts = {"a", "b", "c", "d", "e", "f"};
  whole.slow = {{.host = "b", .bandwidth = 0.5}, {.host = "f", .bandwidth = 0.5}};
  whole.asymmetric = {{"a", "f", 0.5}, {"b", "c", 0.5}};
  Profile wanted = profile_with({"b c"});
  wanted.hosts = {"b", "c"};
  wanted.slow = {{.host = "b", .bandwidth = 0.5}};
  wanted.asymmetric = {{"b", "c", 0.5}};
  EXPECT_EQ(narrowed_to(whole, Names{"b", "c"}), wanted) << to_text(narrowed_to(whole, Names{"b", "c"}));
  EXPECT_EQ(narrowed_to(whole, whole.hosts), whole);
}

TEST(ProfileOfSomeHosts, KnowsNoUplinkThatTheyDoNotShare) {
  Profile whole = profile_with({"abcd ef gh"});
  whole.levels[0].groups[2].uplink = 1e6;
  const std::vector<topo::RankFacts> facts{{.memory_group = 0}, {.memory_group = 1}, {.memory_group = 2}};
  const Names hosts{"a", "b", "e"};
  const auto hierarchy = hierarchy_with(narrowed_to(whole, hosts), facts, hosts);
  ASSERT_TRUE(hierarchy) << hierarchy.error().message;
  EXPECT_EQ(hierarchy->levels.back().link, topo::LinkKind::network);
}

} // namespace
} // namespace strata::tune
