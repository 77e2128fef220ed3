// SPDX-License-Identifier: BSD-3-Clause
#include "topo/hierarchy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace strata::topo {
namespace {

using Facts = std::vector<RankFacts>;

/// "name:groups by rank", as in "node:0011".
std::string shape(const Level& level) {
  std::string text = level.name + ":";
  for (const std::int32_t group : level.group_of)
    text += static_cast<char>((group < 10 ? '0' : 'a' - 10) + group);
  return text;
}

std::vector<std::string> shapes(const Hierarchy& hierarchy) {
  std::vector<std::string> all;
  for (const Level& level : hierarchy.levels)
    all.push_back(shape(level));
  return all;
}

using Shapes = std::vector<std::string>;

std::string reason(const Status& status) { return status ? "" : status.error().message; }

Facts nodes_of_ranks(const std::vector<std::int32_t>& memory_groups) {
  Facts facts;
  for (const std::int32_t group : memory_groups)
    facts.push_back({.memory_group = group});
  return facts;
}

TEST(HierarchyFromFacts, OneRankHasNoLevel) {
  const auto hierarchy = hierarchy_from(nodes_of_ranks({7}));
  EXPECT_EQ(hierarchy.ranks, 1);
  EXPECT_TRUE(hierarchy.levels.empty());
  EXPECT_TRUE(check(hierarchy));
}

TEST(HierarchyFromFacts, RanksOfOneNodeFormANode) {
  const auto hierarchy = hierarchy_from(nodes_of_ranks({3, 3, 3}));
  EXPECT_EQ(shapes(hierarchy), Shapes{"node:000"});
  EXPECT_EQ(hierarchy.levels[0].link, LinkKind::shared_memory);
}

TEST(HierarchyFromFacts, NodesOfOneRankFormACluster) {
  const auto hierarchy = hierarchy_from(nodes_of_ranks({5, 2, 9}));
  EXPECT_EQ(shapes(hierarchy), Shapes{"cluster:000"});
  EXPECT_EQ(hierarchy.levels[0].link, LinkKind::network);
}

TEST(HierarchyFromFacts, GroupsAreNumberedByLowestRankWhateverTheMapping) {
  const auto hierarchy = hierarchy_from(nodes_of_ranks({9, 4, 9, 4, 7}));
  EXPECT_EQ(shapes(hierarchy), (Shapes{"node:01012", "cluster:00000"}));
}

TEST(HierarchyFromFacts, CachesNumaNodesAndPackagesNest) {
  Facts facts;
  for (std::int32_t rank = 0; rank < 8; ++rank)
    facts.push_back({.memory_group = 0, .cache = rank / 2, .numa = rank / 4, .package = rank / 4});
  facts[6].package = facts[7].package = 1;
  for (std::int32_t rank = 0; rank < 8; ++rank)
    facts.push_back({facts[static_cast<std::size_t>(rank)]});
  for (std::size_t rank = 8; rank < 16; ++rank)
    facts[rank].memory_group = 1;
  const auto hierarchy = hierarchy_from(facts);
  EXPECT_EQ(shapes(hierarchy), (Shapes{"cache:0011223344556677", "package:0000111122223333", "node:0000000011111111",
                                       "cluster:0000000000000000"}))
      << "NUMA nodes that equal packages go by the outer name";
  EXPECT_EQ(hierarchy.levels[0].link, LinkKind::shared_cache);
  EXPECT_EQ(hierarchy.levels[1].link, LinkKind::shared_memory);
  EXPECT_EQ(hierarchy.levels[2].link, LinkKind::shared_memory);
  EXPECT_EQ(hierarchy.levels[3].link, LinkKind::network);
}

TEST(HierarchyFromFacts, ANodeWithOneCacheIsANodeWhoseLinkIsTheCache) {
  Facts facts(4, RankFacts{.memory_group = 0, .cache = 0, .numa = 0, .package = 0});
  const auto hierarchy = hierarchy_from(facts);
  EXPECT_EQ(shapes(hierarchy), Shapes{"node:0000"});
  EXPECT_EQ(hierarchy.levels[0].link, LinkKind::shared_cache);
}

TEST(HierarchyFromFacts, EqualNumbersOnDifferentNodesAreDifferentObjects) {
  Facts facts = nodes_of_ranks({0, 0, 1, 1});
  for (RankFacts& fact : facts)
    fact.cache = 0;
  EXPECT_EQ(shapes(hierarchy_from(facts)), (Shapes{"node:0011", "cluster:0000"}));
}

TEST(HierarchyFromFacts, WhereOneRankLacksAFactTheNextLevelOutwardsCounts) {
  Facts facts;
  for (std::int32_t rank = 0; rank < 4; ++rank)
    facts.push_back({.memory_group = 0, .cache = rank / 2, .numa = -1, .package = -1});
  for (std::int32_t rank = 0; rank < 4; ++rank)
    facts.push_back({.memory_group = 1, .cache = rank == 3 ? -1 : 0, .numa = rank % 2, .package = -1});
  const auto hierarchy = hierarchy_from(facts);
  EXPECT_EQ(shapes(hierarchy), (Shapes{"cache:00112323", "numa:00001212", "node:00001111", "cluster:00000000"}));
  EXPECT_EQ(hierarchy.levels[0].link, LinkKind::shared_memory) << "not all groups share a cache";
}

TEST(HierarchyFromFacts, UnboundRanksShareOnlyTheNode) {
  Facts facts(4, RankFacts{.memory_group = 0, .cache = -1, .numa = -1, .package = -1});
  EXPECT_EQ(shapes(hierarchy_from(facts)), Shapes{"node:0000"});
}

TEST(HierarchyFromFacts, ACacheAroundSeveralNumaNodesIsTheOuterLevel) {
  Facts facts;
  for (std::int32_t rank = 0; rank < 8; ++rank)
    facts.push_back({.memory_group = 0, .cache = rank / 4, .numa = rank / 2, .package = 0});
  EXPECT_EQ(shapes(hierarchy_from(facts)), (Shapes{"numa:00112233", "cache:00001111", "node:00000000"}));
}

TEST(HierarchyFromFacts, AnyFactsGiveAProperHierarchy) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto number = [&](unsigned most) { return static_cast<std::int32_t>(random() % (most + 1)) - 1; };
  for (int round = 0; round < 3000; ++round) {
    Facts facts(1 + random() % 20);
    for (RankFacts& fact : facts)
      fact = {number(4), number(4), number(3), number(2)};
    const auto hierarchy = hierarchy_from(facts);
    EXPECT_EQ(hierarchy.ranks, static_cast<std::int32_t>(facts.size()));
    EXPECT_EQ(reason(check(hierarchy)), "");
    for (const Level& level : hierarchy.levels) {
      std::map<std::int32_t, std::set<std::int32_t>> memory_groups; // of each group
      for (std::size_t i = 0; i < facts.size(); ++i)
        memory_groups[level.group_of[i]].insert(facts[i].memory_group);
      const bool within_nodes = std::all_of(memory_groups.begin(), memory_groups.end(),
                                            [](const auto& entry) { return entry.second.size() == 1; });
      EXPECT_EQ(level.link != LinkKind::network, within_nodes) << shape(level);
    }
  }
}

/// Nodes of two ranks each, by slot.
std::vector<RankFacts> nodes_of_two(std::int32_t nodes) {
  std::vector<RankFacts> facts;
  for (std::int32_t rank = 0; rank < 2 * nodes; ++rank)
    facts.push_back({.memory_group = rank / 2});
  return facts;
}

TEST(HierarchyWithRacks, HasTheRacksBelowTheOutermostLevel) {
  const auto facts = nodes_of_two(4);
  const std::vector<std::int32_t> rack_of{0, 1, 0, 1};
  const Hierarchy hierarchy = with_racks(hierarchy_from(facts), facts, rack_of);
  ASSERT_TRUE(check(hierarchy));
  ASSERT_EQ(hierarchy.levels.size(), 3U);
  EXPECT_EQ(hierarchy.levels[1].name, "rack");
  EXPECT_EQ(hierarchy.levels[1].group_of, (std::vector<std::int32_t>{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(hierarchy.levels[1].link, LinkKind::network);
  EXPECT_EQ(hierarchy.levels[2].link, LinkKind::uplink);
}

TEST(HierarchyWithRacks, StaysAsItIsWhereRacksJoinNothingOrEverything) {
  const auto facts = nodes_of_two(3);
  const Hierarchy plain = hierarchy_from(facts);
  for (const auto& rack_of : {std::vector<std::int32_t>{0, 0, 0}, std::vector<std::int32_t>{0, 1, 2}}) {
    const Hierarchy hierarchy = with_racks(plain, facts, rack_of);
    EXPECT_EQ(hierarchy.levels.size(), plain.levels.size());
    EXPECT_EQ(hierarchy.levels.back().link, LinkKind::network);
  }
}

TEST(HierarchyWithRacks, TakesNodesOfOneRank) {
  std::vector<RankFacts> facts;
  for (std::int32_t rank = 0; rank < 4; ++rank)
    facts.push_back({.memory_group = rank});
  const Hierarchy hierarchy = with_racks(hierarchy_from(facts), facts, std::vector<std::int32_t>{0, 0, 1, 1});
  ASSERT_TRUE(check(hierarchy));
  ASSERT_EQ(hierarchy.levels.size(), 2U);
  EXPECT_EQ(hierarchy.levels[0].name, "rack");
}

TEST(HierarchyByHand, FactorsCutTheRanksInOrder) {
  const auto hierarchy = hierarchy_by_hand(" 2x3x2 ", nodes_of_ranks(std::vector<std::int32_t>(12, 0)));
  ASSERT_TRUE(hierarchy) << hierarchy.error().message;
  EXPECT_EQ(shapes(*hierarchy), (Shapes{"level0:001122334455", "level1:000000111111", "level2:000000000000"}));
  EXPECT_EQ(hierarchy->levels[2].link, LinkKind::shared_memory);
}

TEST(HierarchyByHand, AFactorOneAddsNoLevel) {
  const auto hierarchy = hierarchy_by_hand("1x2x1x2", nodes_of_ranks({0, 0, 0, 0}));
  ASSERT_TRUE(hierarchy) << hierarchy.error().message;
  EXPECT_EQ(shapes(*hierarchy), (Shapes{"level0:0011", "level1:0000"}));
}

TEST(HierarchyByHand, OneRankTakesTheFactorOne) {
  const auto hierarchy = hierarchy_by_hand("1", nodes_of_ranks({0}));
  ASSERT_TRUE(hierarchy) << hierarchy.error().message;
  EXPECT_TRUE(hierarchy->levels.empty());
}

TEST(HierarchyByHand, GroupsAreTakenAsWrittenAndTheOutermostIsImplied) {
  const auto hierarchy = hierarchy_by_hand("4 | 0,1|2 - 3,5 / 0-1,4|5,3,2", nodes_of_ranks({0, 0, 1, 1, 0, 1}));
  ASSERT_TRUE(hierarchy) << hierarchy.error().message;
  EXPECT_EQ(shapes(*hierarchy), (Shapes{"level0:001121", "level1:001101", "level2:000000"}));
  EXPECT_EQ(hierarchy->levels[0].link, LinkKind::shared_memory);
  EXPECT_EQ(hierarchy->levels[1].link, LinkKind::shared_memory);
  EXPECT_EQ(hierarchy->levels[2].link, LinkKind::network);
  EXPECT_EQ(reason(check(*hierarchy)), "");
}

TEST(HierarchyByHand, AWrittenOutermostLevelIsNotRepeated) {
  const auto hierarchy = hierarchy_by_hand("0,1|2,3/0-3", nodes_of_ranks({0, 0, 0, 0}));
  ASSERT_TRUE(hierarchy) << hierarchy.error().message;
  EXPECT_EQ(hierarchy->levels.size(), 2u);
}

TEST(HierarchyByHand, GroupsThatCrossNodesAreJoinedByTheNetwork) {
  const auto hierarchy = hierarchy_by_hand("2x2", nodes_of_ranks({0, 1, 0, 1}));
  ASSERT_TRUE(hierarchy) << hierarchy.error().message;
  EXPECT_EQ(hierarchy->levels[0].link, LinkKind::network);
}

TEST(HierarchyByHand, RefusalsNameTheOffendingPart) {
  const std::vector<std::pair<std::string, std::string>> refused{
      {"", "no level is given (factors such as 4x2, or groups such as 0,1|2,3)"},
      {"  ", "no level is given (factors such as 4x2, or groups such as 0,1|2,3)"},
      {"2x2", "\"2x2\" makes 4 ranks, but there are 6"},
      {"5", "\"5\" makes 5 ranks, but there are 6"},
      {"3x3x2", "factors 0 to 1 of \"3x3x2\" make 9 ranks already, but there are 6"},
      {"3xtwo", "factor 1 of \"3xtwo\", \"two\", is no whole number from 1 to 6 (the ranks)"},
      {"3x", "factor 1 of \"3x\", \"\", is no whole number from 1 to 6 (the ranks)"},
      {"0x6", "factor 0 of \"0x6\", \"0\", is no whole number from 1 to 6 (the ranks)"},
      {"99999999999999999999", "factor 0 of \"99999999999999999999\", \"99999999999999999999\", is no whole number "
                               "from 1 to 6 (the ranks)"},
      {"0,1|2,3", "level 0: rank 4 is in no group"},
      {"0,1|2,3|4,6", "level 0, group 2: \"6\" is no rank or range of ranks (0 to 5)"},
      {"0,1|2,3|4,5|", "level 0, group 3: \"\" is no rank or range of ranks (0 to 5)"},
      {"0-2|5-3", "level 0, group 1: \"5-3\" is no rank or range of ranks (0 to 5)"},
      {"0-2|2-5", "level 0, group 1: rank 2 is named for the second time"},
      {"0-2|-5", "level 0, group 1: \"-5\" is no rank or range of ranks (0 to 5)"},
      {"0-4294967296", "level 0, group 0: \"0-4294967296\" is no rank or range of ranks (0 to 5)"},
      {"0-2|3-5/", "level 1, group 0: \"\" is no rank or range of ranks (0 to 5)"},
      {"0-2|3-5/0-1|2-5", "level 1 divides group 0 of level 0 (ranks 0-2), but may only join groups"},
      {"0-2|3-5/3-5|0-2", "level 1 joins nothing: its groups are those of level 0"},
      {"0|1|2|3|4|5", "level 0 joins nothing: each of its groups is a single rank"},
      {std::string(40, '/'), "41 levels are given, 32 at most are allowed"},
  };
  for (const auto& [text, message] : refused) {
    const auto hierarchy = hierarchy_by_hand(text, nodes_of_ranks({0, 0, 0, 0, 0, 0}));
    ASSERT_FALSE(hierarchy) << text;
    EXPECT_EQ(hierarchy.error().message, message) << text;
    EXPECT_EQ(hierarchy.error().kind, ErrorKind::argument);
  }
}

TEST(HierarchyByHand, ALongRefusalStaysOneShortLine) {
  const auto hierarchy =
      hierarchy_by_hand(std::string(100000, '\n') + "2x" + std::string(100000, '\t') + "\033y", nodes_of_ranks({0, 0}));
  ASSERT_FALSE(hierarchy);
  EXPECT_LT(hierarchy.error().message.size(), 400u);
  EXPECT_EQ(hierarchy.error().message.find_first_of("\n\t\033"), std::string::npos);
}

TEST(HierarchyByHand, NoTextCrashesAndWhatIsTakenIsProper) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string alphabet = "000112233445xx-,,|||//  9\xff";
  int taken = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string text;
    for (auto length = random() % 16; length > 0; --length)
      text += alphabet[random() % alphabet.size()];
    const auto hierarchy = hierarchy_by_hand(text, Facts(1 + random() % 6));
    if (!hierarchy) {
      EXPECT_FALSE(hierarchy.error().message.empty());
      continue;
    }
    ++taken;
    EXPECT_EQ(reason(check(*hierarchy)), "") << text;
  }
  EXPECT_GT(taken, 0);
}

TEST(HierarchyByHand, EveryChainOfRandomGroupsIsTakenBack) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    Facts facts(2 + random() % 18);
    for (RankFacts& fact : facts)
      fact = {static_cast<std::int32_t>(random() % 4), static_cast<std::int32_t>(random() % 3), -1, -1};
    const auto measured = hierarchy_from(facts);
    std::string text;
    for (const Level& level : measured.levels) {
      text += text.empty() ? "" : "/";
      for (std::int32_t group = 0; group < level.groups; ++group) {
        std::string ranks;
        for (std::size_t rank = 0; rank < facts.size(); ++rank)
          if (level.group_of[rank] == group) ranks += (ranks.empty() ? "" : ",") + std::to_string(rank);
        text += (group > 0 ? "|" : "") + ranks;
      }
    }
    const auto by_hand = hierarchy_by_hand(text, facts);
    ASSERT_TRUE(by_hand) << text << ": " << by_hand.error().message;
    ASSERT_EQ(by_hand->levels.size(), measured.levels.size()) << text;
    for (std::size_t i = 0; i < measured.levels.size(); ++i) {
      EXPECT_EQ(by_hand->levels[i].group_of, measured.levels[i].group_of);
      EXPECT_EQ(by_hand->levels[i].link, measured.levels[i].link);
    }
  }
}

Hierarchy proper() { return hierarchy_from(nodes_of_ranks({0, 0, 1, 1})); }

TEST(HierarchyCheck, NamesEveryBrokenInvariant) {
  std::map<std::string, Hierarchy> broken;
  Hierarchy& apart = broken["the outermost level leaves 2 groups apart"] = proper();
  apart.levels.pop_back();
  broken["the outermost level leaves 4 groups apart"].ranks = 4;
  Hierarchy& same = broken["level 1 (node) joins nothing: it has 2 groups like what it is made of"] = proper();
  same.levels[1] = same.levels[0];
  Hierarchy& singles = broken["level 0 (node) joins nothing: it has 4 groups like what it is made of"] = proper();
  singles.levels[0].group_of = {0, 1, 2, 3};
  singles.levels[0].groups = 4;
  Hierarchy& divided = broken["level 1 (node) divides group 0 (ranks 0,1) of level 0"] = proper();
  divided.levels[1] = divided.levels[0];
  divided.levels[1].group_of = {0, 1, 1, 1};
  Hierarchy& short_level = broken["level 0 (node) places 3 ranks of 4"] = proper();
  short_level.levels[0].group_of.pop_back();
  Hierarchy& count = broken["level 0 (node) says 3 groups and has 2"] = proper();
  count.levels[0].groups = 3;
  Hierarchy& numbers = broken["level 0 (node) has rank 0 in group 1, but groups are numbered by their lowest rank, so "
                              "that 0 is the next"] = proper();
  numbers.levels[0].group_of = {1, 1, 0, 0};
  broken["0 ranks"].ranks = 0;
  for (const auto& [message, hierarchy] : broken)
    EXPECT_EQ(reason(check(hierarchy)), message);
  EXPECT_TRUE(check(proper()));
}

TEST(HierarchyText, IndentsGroupsAndShowsACommonLabelOnce) {
  Facts facts = nodes_of_ranks({0, 0, 0, 0, 1, 1, 2});
  for (std::size_t rank = 0; rank < 4; ++rank)
    facts[rank].cache = static_cast<std::int32_t>(rank / 2);
  const std::vector<std::string> hosts{"a", "a", "a", "a", "b", "b", "c"};
  EXPECT_EQ(to_text(hierarchy_from(facts), hosts), "cluster (network): ranks 0-6\n"
                                                   "  node 0 (shared memory): ranks 0-3 [a]\n"
                                                   "    cache 0 (shared memory): ranks 0,1\n"
                                                   "    cache 1 (shared memory): ranks 2,3\n"
                                                   "  node 1 (shared memory): ranks 4,5 [b]\n"
                                                   "  node 2: rank 6 [c]\n");
}

TEST(HierarchyText, ListsRanksWhoseLabelsDiffer) {
  const std::vector<std::string> cores{"core 0", "core 1"};
  EXPECT_EQ(to_text(hierarchy_from(nodes_of_ranks({0, 0})), cores), "node (shared memory): ranks 0,1\n"
                                                                    "  rank 0 [core 0]\n"
                                                                    "  rank 1 [core 1]\n");
}

TEST(HierarchyText, WorksWithoutLabelsAndForOneRank) {
  EXPECT_EQ(to_text(hierarchy_from(nodes_of_ranks({0, 0, 0})), {}), "node (shared memory): ranks 0-2\n");
  EXPECT_EQ(to_text(hierarchy_from(nodes_of_ranks({0})), {}), "rank 0\n");
}

} // namespace
} // namespace strata::topo
