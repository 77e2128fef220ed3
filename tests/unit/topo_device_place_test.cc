// SPDX-License-Identifier: BSD-3-Clause
#include "topo/device_place.h"

#include <gtest/gtest.h>

namespace strata::topo {
namespace {

using Places = std::vector<DevicePlace>;

/// "name:groups by rank", as in "node:0011", from the innermost level outwards.
std::string drawn(const Hierarchy& hierarchy) {
  std::string text;
  for (const Level& level : hierarchy.levels) {
    text += (text.empty() ? "" : " ") + level.name + ":";
    for (const std::int32_t group : level.group_of)
      text += static_cast<char>('0' + group);
  }
  return text;
}

std::vector<RankFacts> ranks_of_nodes(const std::vector<std::int32_t>& nodes) {
  std::vector<RankFacts> facts;
  for (const std::int32_t node : nodes)
    facts.push_back({.memory_group = node});
  return facts;
}

/// A hierarchy of ranks on such nodes, with the levels of these devices.
std::string levels_of(const std::vector<std::int32_t>& nodes, const Places& places) {
  const auto facts = ranks_of_nodes(nodes);
  const Hierarchy changed = with_devices(hierarchy_from(facts), facts, places);
  EXPECT_TRUE(check(changed));
  EXPECT_EQ(changed.ranks, static_cast<std::int32_t>(nodes.size()));
  return drawn(changed);
}

DevicePlace device_at(const char* address, std::vector<std::string> linked = {}) {
  DevicePlace place;
  place.address = address;
  place.linked = std::move(linked);
  return place;
}

DevicePlace in_package(std::int32_t package, const char* address, std::vector<std::string> linked = {}) {
  DevicePlace place = device_at(address, std::move(linked));
  place.package = package;
  return place;
}

DevicePlace at_switch(const char* address) { return device_at(address, {"switch"}); }

TEST(DeviceLevels, AreNoneWhereNothingIsKnown) {
  EXPECT_EQ(levels_of({0, 0, 0}, Places(3)), "node:000");
  EXPECT_EQ(levels_of({0, 0, 1, 1}, Places(4)), "node:0011 cluster:0000");
  EXPECT_EQ(levels_of({0}, Places(1)), "");
}

TEST(DeviceLevels, JoinTheRanksThatShareADevice) {
  EXPECT_EQ(levels_of({0, 0, 0, 0}, {device_at("a"), device_at("b"), device_at("a"), device_at("b")}),
            "device:0101 node:0000");
  EXPECT_EQ(levels_of({0, 0, 0}, {device_at("a"), device_at("a"), device_at("a")}), "node:000")
      << "one device is the node";
  EXPECT_EQ(levels_of({0, 0, 0}, {device_at("a"), device_at("b"), device_at("c")}), "node:000");
  EXPECT_EQ(levels_of({0, 0, 1, 1}, {device_at("a"), device_at("b"), device_at("a"), device_at("b")}),
            "node:0011 cluster:0000")
      << "another node's device has the same address";
}

TEST(DeviceLevels, AreThoseOfBridgesCardsAndPackages) {
  // Four switches with two devices each; two of them, and one network card, in each package.
  Places places;
  for (std::int32_t device = 0; device < 8; ++device)
    places.push_back({std::to_string(device), device / 2, device / 4, device / 4, device / 4, {}});
  EXPECT_EQ(levels_of(std::vector<std::int32_t>(8, 0), places), "bridge:00112233 package:00001111 node:00000000");
  for (std::int32_t device = 0; device < 8; ++device)
    places[static_cast<std::size_t>(device)].card = device / 2;
  EXPECT_EQ(levels_of(std::vector<std::int32_t>(8, 0), places), "card:00112233 package:00001111 node:00000000")
      << "of equal ones the outermost gives the name";
  for (DevicePlace& place : places)
    place.package = -1;
  EXPECT_EQ(levels_of(std::vector<std::int32_t>(8, 0), places), "card:00112233 numa:00001111 node:00000000");
}

TEST(DeviceLevels, AreNotThoseOfTheCores) {
  std::vector<RankFacts> facts(4);
  for (std::size_t rank = 0; rank < 4; ++rank)
    facts[rank].package = static_cast<std::int32_t>(rank / 2);
  const Hierarchy hosts = hierarchy_from(facts);
  EXPECT_EQ(drawn(hosts), "package:0011 node:0000");
  const Places across{in_package(0, "a"), in_package(1, "b"), in_package(0, "c"), in_package(1, "d")};
  EXPECT_EQ(drawn(with_devices(hosts, facts, across)), "package:0101 node:0000");
  EXPECT_EQ(drawn(with_devices(hosts, facts, Places(4))), "node:0000");
}

TEST(DeviceLevels, AreNotDividedWhereDirectLinksLeadAcross) {
  const Places by_a_switch{in_package(0, "a", {"switch"}), in_package(0, "b", {"switch"}),
                           in_package(1, "c", {"switch"}), in_package(1, "d", {"switch"})};
  EXPECT_EQ(levels_of({0, 0, 0, 0}, by_a_switch), "node:0000");
  const Places in_a_row{in_package(0, "a", {"b"}), in_package(0, "b", {"a", "c"}), in_package(1, "c", {"b", "d"}),
                        in_package(1, "d", {"c"})};
  EXPECT_EQ(levels_of({0, 0, 0, 0}, in_a_row), "node:0000");
}

TEST(DeviceLevels, AreThoseOfDirectLinks) {
  const Places in_pairs{in_package(0, "a", {"b"}), in_package(0, "b", {"a"}), in_package(1, "c", {"d"}),
                        in_package(1, "d", {"c"})};
  EXPECT_EQ(levels_of({0, 0, 0, 0}, in_pairs), "nvlink:0011 node:0000");
  const Places across{in_package(0, "a", {"c"}), in_package(0, "b", {"d"}), in_package(1, "c", {"a"}),
                      in_package(1, "d", {"b"})};
  EXPECT_EQ(levels_of({0, 0, 0, 0}, across), "nvlink:0101 node:0000") << "the packages lie across the links";
  const Places some{in_package(0, "a", {"b"}), in_package(0, "b", {"a"}), in_package(1, "c"), in_package(1, "d")};
  EXPECT_EQ(levels_of({0, 0, 0, 0}, some), "nvlink:0012 package:0011 node:0000");
}

TEST(DeviceLevels, AreNotThoseOfLinksToWhatNobodyWorksWith) {
  const Places beside_one{in_package(0, "a", {"x"}), in_package(0, "b", {"x"}), in_package(1, "c", {"x"}),
                          in_package(1, "d", {"x"})};
  EXPECT_EQ(levels_of({0, 0, 0, 0}, beside_one), "package:0011 node:0000") << "x passes nothing on";
}

TEST(DeviceLevels, KeepLinksOfAnotherNodeApart) {
  const Places same_addresses{device_at("a", {"b"}), device_at("b", {"a"}), device_at("a"), device_at("b")};
  EXPECT_EQ(levels_of({0, 0, 1, 1}, same_addresses), "node:0011 cluster:0000");
  const Places switches{at_switch("a"), at_switch("b"), at_switch("a"), at_switch("b")};
  EXPECT_EQ(levels_of({0, 0, 1, 1}, switches), "node:0011 cluster:0000");
}

TEST(DeviceLevels, JoinSharedDevicesBeforeTheirLinks) {
  const Places places{device_at("a", {"b"}), device_at("a", {"b"}), device_at("b", {"a"}),
                      device_at("b", {"a"}), device_at("c"),        device_at("c")};
  EXPECT_EQ(levels_of({0, 0, 0, 0, 0, 0}, places), "device:001122 nvlink:000011 node:000000");
}

TEST(DeviceLevels, HaveTheGroupsOfTheNextOneWhereANodeDoesNotKnow) {
  const Places places{in_package(0, "a"), in_package(0, "b"), in_package(1, "c"), in_package(1, "d"),
                      in_package(0, "a"), device_at("b"),     in_package(1, "c"), in_package(1, "d")};
  EXPECT_EQ(levels_of({0, 0, 0, 0, 1, 1, 1, 1}, places), "package:00112222 node:00001111 cluster:00000000");
}

TEST(DeviceLevels, LeaveThoseBetweenNodes) {
  const auto facts = ranks_of_nodes({0, 0, 1, 1, 2, 2, 3, 3});
  const std::vector<std::int32_t> rack_of{0, 0, 1, 1};
  const Hierarchy racks = with_racks(hierarchy_from(facts), facts, rack_of);
  Places places;
  for (int rank = 0; rank < 8; ++rank)
    places.push_back(device_at("a"));
  const Hierarchy changed = with_devices(racks, facts, places);
  EXPECT_EQ(drawn(changed), "node:00112233 rack:00001111 cluster:00000000");
  EXPECT_TRUE(same_groups(changed, racks));
  EXPECT_EQ(changed.levels.back().link, LinkKind::uplink);
  EXPECT_EQ(changed.levels.front().link, LinkKind::shared_memory);
}

TEST(DevicePlace, IsReadAsItWasWritten) {
  const DevicePlace place{"0000:3b:00.0", 12, 3, 0, 1, {"0000:86:00.0", "0000:af:00.0"}};
  EXPECT_EQ(to_text(place), "0000:3b:00.0 12 3 0 1 0000:86:00.0,0000:af:00.0");
  EXPECT_EQ(device_place_from(to_text(place)), place);
  EXPECT_EQ(device_place_from(to_text(DevicePlace{})), DevicePlace{}) << "nothing is known";
}

TEST(DevicePlace, IsNotReadFromOtherTexts) {
  for (const char* text : {"", "0000:3b:00.0", "a 1 2 3 4", "a 1 2 3 4  ", "a b 2 3 4 ", "a 1 2 3 4x ", "a 1 2  4 ",
                           "a 1 2 3 99999999999 "})
    EXPECT_FALSE(device_place_from(text)) << text;
}

} // namespace
} // namespace strata::topo
