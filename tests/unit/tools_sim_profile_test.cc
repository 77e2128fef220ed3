// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sim.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata::tools {
namespace {

/// Two racks of unlike sizes and uplinks.
tune::Profile three_hosts() {
  const auto profile = tune::profile_from("strata-profile 1\n"
                                          "measured 2026-11-21T12:00:00Z ucx\n"
                                          "host a,b,c\n"
                                          "node latency=20us bandwidth=100MB/s\n"
                                          "rack r0 hosts=a,c latency=50us uplink=80MB/s\n"
                                          "rack r1 hosts=b latency=70us uplink=60MB/s\n"
                                          "end 5\n",
                                          "three");
  EXPECT_TRUE(profile) << (profile ? "" : profile.error().message);
  return profile ? *profile : tune::Profile{};
}

sim::Machine machine_of(const std::string& node, sim::Mapping::Kind mapping) {
  const auto line = line_with_profile(three_hosts(), node);
  EXPECT_TRUE(line) << (line ? "" : line.error().message);
  return line ? machine_with_profile(three_hosts(), *line, {mapping, 3}) : sim::Machine{};
}

using Groups = std::vector<std::int32_t>;

TEST(MachineOfAProfile, HasItsHostsAsNodes) {
  const sim::Machine machine = machine_of("core:2", sim::Mapping::Kind::slot);
  ASSERT_EQ(machine.tiers.size(), 3U);
  EXPECT_EQ(machine.tiers[1].name, "node");
  EXPECT_EQ(machine.tiers[1].group_of, (Groups{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(machine.tiers[2].name, "rack");
  EXPECT_EQ(machine.tiers[2].group_of, (Groups{0, 0, 1, 1, 0, 0}));
}

TEST(MachineOfAProfile, HasTheGapOfItsNodesWhereAsManyRanksSend) {
  tune::Profile profile = three_hosts();
  profile.gap = 40e-6;
  profile.gap_senders = 2;
  const auto gap = [&](const char* node) {
    const auto line = line_with_profile(profile, node);
    EXPECT_TRUE(line) << (line ? "" : line.error().message);
    return line ? line->gap : -1;
  };
  EXPECT_DOUBLE_EQ(gap("core:2"), 40e-6);
  EXPECT_DOUBLE_EQ(gap("socket:2 core:2"), 40e-6);
  EXPECT_EQ(gap("core:1"), 0);
}

TEST(MachineOfAProfile, HasTheRackOfEachRankByItsMapping) {
  const sim::Machine machine = machine_of("core:2", sim::Mapping::Kind::node);
  EXPECT_EQ(machine.tiers[1].group_of, (Groups{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(machine.tiers[2].group_of, (Groups{0, 1, 0, 0, 1, 0}));
}

TEST(MachineOfAProfile, KeepsTheHostsOfARackTogetherWhenRanksAreDealtOutByChance) {
  const sim::Machine machine = machine_of("core:2", sim::Mapping::Kind::random);
  Groups nodes_of_rack(2, 0);
  std::vector<bool> seen(3, false);
  for (std::size_t rank = 0; rank < 6; ++rank) {
    const auto node = static_cast<std::size_t>(machine.tiers[1].group_of[rank]);
    if (!seen[node]) ++nodes_of_rack[static_cast<std::size_t>(machine.tiers[2].group_of[rank])];
    seen[node] = true;
  }
  std::sort(nodes_of_rack.begin(), nodes_of_rack.end());
  EXPECT_EQ(nodes_of_rack, (Groups{1, 2}));
}

TEST(MachineOfAProfile, HasItsNumbersAndTheSlowestOfALevel) {
  const sim::Machine machine = machine_of("core:2", sim::Mapping::Kind::slot);
  EXPECT_DOUBLE_EQ(machine.tiers[1].link.latency, 20e-6);
  EXPECT_DOUBLE_EQ(machine.tiers[1].link.per_byte, 1 / 100e6);
  EXPECT_NEAR(machine.tiers[2].link.latency, 50e-6, 1e-12); // 70 of the whole way, 20 of them inside
  EXPECT_DOUBLE_EQ(machine.tiers[2].link.per_byte, 1 / 60e6);
  EXPECT_DOUBLE_EQ(machine.tiers[2].link.per_message, machine.tiers[1].link.per_message);
}

TEST(MachineOfAProfile, HasTheLatencyOfAMessageWhereTheOtherWasMeasuredBehindOthers) {
  tune::Profile profile = three_hosts();
  profile.messages[static_cast<std::size_t>(topo::LinkKind::network)].strata[0] = 8e-6;
  const auto line = line_with_profile(profile, "core:2");
  ASSERT_TRUE(line);
  const sim::Machine machine = machine_with_profile(profile, *line, {});
  EXPECT_DOUBLE_EQ(machine.tiers[1].link.latency, 8e-6);
  EXPECT_NEAR(machine.tiers[2].link.latency, 62e-6, 1e-12) << "70 of the whole way";
}

TEST(MachineOfAProfile, RefusesLevelsOutsideOfANode) {
  const auto line = line_with_profile(three_hosts(), "rack:2 node:2 core:2");
  ASSERT_FALSE(line);
  EXPECT_NE(line.error().message.find("rack lies outside of a node"), std::string::npos) << line.error().message;
}

TEST(MachineOfAProfile, NamesTheColumnOfTheNodesText) {
  const auto line = line_with_profile(three_hosts(), "core:2(copy=fast)");
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().message.substr(0, 10), "column 13:") << line.error().message;
}

TEST(MachineOfAProfile, HasWhatItsCoresCopyAndReduceAndWhatMessagesTake) {
  const auto profile = tune::profile_from("strata-profile 1\n"
                                          "measured 2026-11-21T12:00:00Z shm\n"
                                          "host a\n"
                                          "cache share=8M copy=90GB/s copy-all=80GB/s reduce-all=40GB/s\n"
                                          "memory copy-all=10GB/s reduce-all=5GB/s\n"
                                          "messages cache strata 8B=200ns 32KiB=1us 256KiB=7.5536us\n"
                                          "messages memory strata 8B=500ns\n"
                                          "end 6\n",
                                          "one");
  ASSERT_TRUE(profile) << profile.error().message;
  const auto line = line_with_profile(*profile, "socket:2 core:2");
  ASSERT_TRUE(line) << line.error().message;
  const sim::Machine machine = machine_with_profile(*profile, *line, {});
  EXPECT_DOUBLE_EQ(machine.core.copy_per_byte, 1 / 80e9);
  EXPECT_DOUBLE_EQ(machine.core.reduce_per_byte, 1 / 80e9) << "two operands are read";
  EXPECT_EQ(machine.core.cache_bytes, 8 << 20);
  EXPECT_DOUBLE_EQ(machine.core.beyond_per_byte, 1 / 10e9);
  const sim::Link &core = machine.tiers[0].link, &socket = machine.tiers[1].link, &node = machine.tiers[2].link;
  EXPECT_NEAR(core.read_per_byte, 6.5536e-6 / 229376 - 1 / 80e9, 1e-15);
  EXPECT_NEAR(core.latency + core.per_message + 2 * machine.core.step, 200e-9, 1e-15);
  EXPECT_NEAR(socket.latency, 300e-9, 1e-15);
  EXPECT_DOUBLE_EQ(node.read_per_byte, 1 / 10e9);
  EXPECT_DOUBLE_EQ(node.reduce_per_byte, 1 / 10e9);
  const auto said = line_with_profile(*profile, "core:2(copy=1GB/s)");
  ASSERT_TRUE(said);
  EXPECT_DOUBLE_EQ(said->core.copy_per_byte, 1e-9) << "what the words say goes before";
}

} // namespace
} // namespace strata::tools
