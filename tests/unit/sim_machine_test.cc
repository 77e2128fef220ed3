// SPDX-License-Identifier: BSD-3-Clause
// Machine lines and mappings.
#include "sim_machines.h"

#include <cmath>
#include <set>

namespace strata::sim {
namespace {

using namespace sim_machines;

TEST(MachineLine, GivesTiersFromTheInnermostOutwards) {
  const Machine made =
      machine(" rack:2(uplink=6.25GB/s, latency=2us)  node:4(uplink=100Gbit/s,latency=5us) socket:2 core:8 ");
  EXPECT_EQ(made.ranks, 128);
  std::vector<std::string> tiers;
  for (const Tier& tier : made.tiers)
    tiers.push_back(
        fmt::format("{} {} {}", tier.name, tier.groups, tier.medium == Medium::memory ? "memory" : "network"));
  EXPECT_EQ(tiers,
            (std::vector<std::string>{"core 128 memory", "socket 16 memory", "node 8 network", "rack 2 network"}));
  EXPECT_DOUBLE_EQ(made.tiers[3].link.per_byte, 1 / 6.25e9);
  EXPECT_DOUBLE_EQ(made.tiers[2].link.per_byte, 1 / 12.5e9);
  EXPECT_DOUBLE_EQ(made.tiers[2].link.latency, 5e-6);
  EXPECT_EQ(made.tiers[1].group_of[8], 1);
  EXPECT_EQ(made.tiers[2].group_of[16], 1);
  EXPECT_EQ(made.tiers[3].group_of[63], 0);
  EXPECT_EQ(made.tiers[3].group_of[64], 1);
}

TEST(MachineLine, TakesWhatIsNotSaidFromFurtherIn) {
  const Machine made = machine("pod:2 rack:2(read=3GB/s) node:2(message=7us) numa:2(reduce=5GB/s) core:2(read=11GB/s)");
  EXPECT_DOUBLE_EQ(made.tiers[1].link.read_per_byte, 1 / 11e9);
  EXPECT_DOUBLE_EQ(made.tiers[0].link.reduce_per_byte, 0.01e-9);
  EXPECT_DOUBLE_EQ(made.core.reduce_per_byte, 0.01e-9);
  EXPECT_DOUBLE_EQ(made.tiers[1].link.reduce_per_byte, 1 / 5e9);
  EXPECT_DOUBLE_EQ(made.tiers[2].link.read_per_byte, 0.1e-9); // not a core's way to memory
  EXPECT_DOUBLE_EQ(made.tiers[3].link.read_per_byte, 1 / 3e9);
  EXPECT_DOUBLE_EQ(made.tiers[4].link.read_per_byte, 1 / 3e9);
  EXPECT_DOUBLE_EQ(made.tiers[4].link.per_message, 7e-6);
  EXPECT_EQ(made.tiers[4].link.per_byte, 0);
}

TEST(MachineLine, HasDefaultsForEveryNumber) {
  const Machine made = machine("rack:2 node:2 core:2");
  for (const Tier& tier : made.tiers) {
    EXPECT_GT(tier.link.latency, 0) << tier.name;
    EXPECT_GT(tier.link.per_message, 0) << tier.name;
    EXPECT_GT(tier.link.read_per_byte, 0) << tier.name;
    EXPECT_GT(tier.link.reduce_per_byte, 0) << tier.name;
  }
  EXPECT_GT(made.core.copy_per_byte, 0);
  EXPECT_GT(made.core.reduce_per_byte, 0);
  EXPECT_GT(made.core.step, 0);
}

TEST(MachineLine, TakesTheSizeOfACache) {
  const Machine made = machine("core:2(cache=16M, beyond=8GB/s)");
  EXPECT_EQ(made.core.cache_bytes, 16 << 20);
  EXPECT_DOUBLE_EQ(made.core.beyond_per_byte, 1 / 8e9);
  EXPECT_EQ(machine("core:2(cache=unlimited)").core.cache_bytes, 0);
}

TEST(MachineLine, TakesTheGapBetweenMessages) {
  EXPECT_DOUBLE_EQ(machine("node:2(gap=40us) core:4").gap, 40e-6);
  EXPECT_EQ(machine("node:2 core:4").gap, 0);
}

TEST(MachineLine, TakesWhatOneRankOfANodeCanDo) {
  EXPECT_DOUBLE_EQ(machine("node:2(rank=8GB/s) core:4").rank_per_byte, 1 / 8e9);
  EXPECT_EQ(machine("node:2 core:4").rank_per_byte, 0);
  EXPECT_EQ(machine("node:2(rank=unlimited) core:4").rank_per_byte, 0);
}

TEST(MachineLine, TakesOtherDefaultsWhereSomethingWasMeasured) {
  LineDefaults defaults = line_defaults();
  defaults.memory.latency = 0.2e-6;
  defaults.memory.read_per_byte = 1e-9;
  defaults.latency_more = 0.5e-6;
  defaults.network.read_per_byte = 2e-9;
  defaults.core.copy_per_byte = 3e-9;
  const auto line = machine_line_from("node:2 socket:2 cache:2 core:2(copy=1GB/s)", defaults);
  ASSERT_TRUE(line) << line.error().message;
  const Machine made = machine_from(*line, {});
  EXPECT_DOUBLE_EQ(made.core.copy_per_byte, 1e-9) << "the line says it";
  EXPECT_DOUBLE_EQ(made.tiers[0].link.latency, 0.2e-6);
  EXPECT_DOUBLE_EQ(made.tiers[0].link.read_per_byte, 1e-9);
  EXPECT_DOUBLE_EQ(made.tiers[1].link.latency + made.tiers[2].link.latency, 0.5e-6) << "of the farthest cores";
  EXPECT_GT(made.tiers[1].link.latency, 0);
  EXPECT_DOUBLE_EQ(made.tiers[3].link.read_per_byte, 2e-9);
}

TEST(MachineLine, TakesUnitsOfTimeAndRate) {
  const std::vector<std::pair<std::string, double>> rates = {
      {"1000B/s", 1e3}, {"2KB/s", 2e3},     {"2kB/s", 2e3},     {"0.5MB/s", 5e5},
      {"8Mbit/s", 1e6}, {"1TB/s", 1e12},    {"1KiB/s", 1024},   {"8Gibit/s", 1073741824},
      {"0.5GB/s", 5e8}, {"1000TB/s", 1e15}, {"1MiB/s", 1048576}};
  for (const auto& [text, rate] : rates)
    EXPECT_DOUBLE_EQ(machine("node:2(uplink=" + text + ")").tiers[0].link.per_byte, 1 / rate) << text;
  EXPECT_EQ(machine("node:2(uplink=unlimited)").tiers[0].link.per_byte, 0);
  for (const auto& [text, seconds] : std::vector<std::pair<std::string, double>>{
           {"0s", 0}, {"10s", 10}, {"2.5ms", 2.5e-3}, {"1us", 1e-6}, {"80ns", 8e-8}})
    EXPECT_DOUBLE_EQ(machine("node:2(latency=" + text + ")").tiers[0].link.latency, seconds) << text;
}

struct Refused {
  std::string text;
  int column; ///< from 1
  std::string part;
};

TEST(MachineLine, IsRefusedWithTheColumnAndWhatIsAllowed) {
  const std::vector<Refused> cases = {
      {"", 1, "at least one level"},
      {"   ", 1, "at least one level"},
      {"ranks=4", 1, "at least one level"},
      {"node:2 tray:3", 8, "'tray' is no level (pod, rack, node, socket, numa, cache or core)"},
      {"node:2 core:3 socket:2", 15, "socket cannot stand behind core"},
      {"node:2 node:2", 8, "node cannot stand behind node"},
      {"node", 1, "'node' is not LEVEL:COUNT"},
      {"node 4", 1, "'node' is not LEVEL:COUNT"},
      {"node(latency=1us):4", 1, "'node' is not LEVEL:COUNT"},
      {"node:0", 6, "node:0 is not allowed (1 to 1000000)"},
      {"node:-1", 6, "node:-1 is not allowed"},
      {"node:2.5", 6, "node:2.5 is not allowed"},
      {"node:", 6, "node: is not allowed"},
      {"node:99999999999999999999", 6, "is not allowed (1 to 1000000)"},
      {"node:1000 core:1001", 16, "1001000 ranks; 1000000 at most"},
      {"pod:1000000 rack:1000000 node:1000000", 18, "1000000 at most"},
      {"rack:2 core:4", 1, "rack holds nodes: add node:COUNT"},
      {"node:2(speed=3GB/s)", 8,
       "'speed' is no number of a node (latency, uplink, message, read, reduce, memory, rank, gap)"},
      {"node:2(copy=3GB/s)", 8, "'copy' is no number of a node"},
      {"core:2(memory=3GB/s)", 8,
       "'memory' is no number of a core (latency, uplink, message, read, reduce, copy, step, cache, beyond)"},
      {"node:2()", 8, "'' is no number of a node"},
      {"node:2(latency)", 15, "behind latency stands '='"},
      {"node:2(latency=)", 16, "latency= is not allowed (0s to 10s"},
      {"node:2(latency=3)", 16, "latency=3 is not allowed"},
      {"node:2(latency=-3us)", 16, "latency=-3us is not allowed"},
      {"node:2(latency=-0us)", 16, "latency=-0us is not allowed"},
      {"node:2(latency=11s)", 16, "latency=11s is not allowed"},
      {"node:2(latency=nan s)", 16, "latency=nan is not allowed"},
      {"node:2(latency=1e3us)", 16, "latency=1e3us is not allowed"},
      {"node:2(uplink=0GB/s)", 15, "uplink=0GB/s is not allowed (1kB/s to 1000TB/s"},
      {"node:2(uplink=-1GB/s)", 15, "is not allowed"},
      {"node:2(uplink=999B/s)", 15, "is not allowed"},
      {"node:2(uplink=1001TB/s)", 15, "is not allowed"},
      {"node:2(uplink=infGB/s)", 15, "is not allowed"},
      {"node:2(uplink=5us)", 15, "is not allowed"},
      {"node:2(uplink=5XB/s)", 15, "is not allowed"},
      {"node:2(latency=1us uplink=1GB/s)", 20, "between numbers stands ','"},
      {"node:2(latency=1us", 7, "this '(' is never closed"},
      {"node:2(latency=1us)core:2", 20, "behind ')' stands a space"},
      {"node:2(latency=1us, latency=2us)", 21, "latency of this node is said twice"},
      {"node:2 core:2(step=0s,copy=1GB/s,step=0s)", 34, "step of this core is said twice"},
      {"core:2(cache=0)", 14, "cache=0 is not allowed (bytes with an optional K, M or G; or unlimited)"},
      {"core:2(cache=1GB/s)", 14, "cache=1GB/s is not allowed"},
      {"node:2(cache=1M)", 8, "'cache' is no number of a node"},
      {"node:2 ranks=0", 8, "ranks=0 is not allowed"},
      {"node:2 ranks=3", 8, "ranks=3 is not allowed: the levels make 2"},
      {"node:2 ranks=1 ranks=2", 16, "twice"},
      {"node:2 nodes=1", 8, "'nodes=' stands outside of parentheses"},
      {"node:2\ncore:2", 6, "is not allowed"}};
  for (const Refused& wanted : cases) {
    const auto line = machine_line_from(wanted.text);
    ASSERT_FALSE(line) << wanted.text;
    EXPECT_EQ(line.error().message.find(fmt::format("column {}: ", wanted.column)), 0U) << line.error().message;
    EXPECT_NE(line.error().message.find(wanted.part), std::string::npos) << line.error().message;
    EXPECT_EQ(line.error().message.find('\n'), std::string::npos);
  }
}

TEST(MachineMapping, FillsNodesOrGoesRoundOrFollowsTheSeed) {
  const std::string line = "node:3 core:2 ranks=5";
  EXPECT_EQ(nodes_of(machine(line)), (std::vector<std::int32_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(nodes_of(machine(line, *mapping_from("node"))), (std::vector<std::int32_t>{0, 1, 2, 0, 1}));
  const std::string large = "node:10 core:10";
  const auto once = nodes_of(machine(large, *mapping_from("random:7")));
  EXPECT_EQ(once, nodes_of(machine(large, *mapping_from("random:7"))));
  EXPECT_NE(once, nodes_of(machine(large, *mapping_from("random:8"))));
  EXPECT_EQ(std::count(once.begin(), once.end(), 4), 10);
}

TEST(MachineMapping, IsRefusedWithWhatIsAllowed) {
  for (const char* text : {"", "slots", "random", "random:", "random:-1", "random:1x", "Node"}) {
    const auto mapping = mapping_from(text);
    ASSERT_FALSE(mapping) << text;
    EXPECT_NE(mapping.error().message.find("slot, node, or random:SEED"), std::string::npos);
  }
}

std::string levels_of(const std::string& text) {
  const topo::Hierarchy hierarchy = hierarchy_of(machine(text));
  const Status sound = topo::check(hierarchy);
  EXPECT_TRUE(sound) << text << ": " << sound.error().message;
  std::string levels;
  for (const topo::Level& level : hierarchy.levels)
    levels += fmt::format("{} {} {}; ", level.name, level.groups, to_text(level.link));
  return levels;
}

TEST(MachineHierarchy, HasTheLevelsThatJoinSomething) {
  EXPECT_EQ(levels_of("rack:2 node:4 socket:2 core:8"),
            "package 16 shared memory; node 8 shared memory; rack 2 network; cluster 1 network; ");
  EXPECT_EQ(levels_of("node:4 core:2"), "node 4 shared memory; cluster 1 network; ");
  EXPECT_EQ(levels_of("node:4"), "cluster 1 network; ");
  EXPECT_EQ(levels_of("core:4"), "node 1 shared memory; ");
  EXPECT_EQ(levels_of("node:1 core:4"), "node 1 shared memory; ");
  EXPECT_EQ(levels_of("node:2 cache:1 core:4"), "node 2 shared cache; cluster 1 network; ");
  EXPECT_EQ(levels_of("socket:2 cache:2 core:4"),
            "cache 4 shared cache; package 2 shared memory; node 1 shared memory; ");
  EXPECT_EQ(levels_of("rack:2 node:1 core:4"), "node 2 shared memory; cluster 1 network; ");
  EXPECT_EQ(levels_of("rack:1 node:3 core:1"), "rack 1 network; ");
  EXPECT_EQ(levels_of("core:1"), "");
  EXPECT_EQ(levels_of("rack:2 node:2 core:2 ranks=1"), "");
}

TEST(MachineBound, IsTheLargestOfTheTiers) {
  expect_microseconds(bound_of(machine("rack:2(uplink=0.5GB/s) node:2(uplink=10GB/s) core:2"), 1000), 2);
  expect_microseconds(bound_of(machine("rack:2(uplink=50GB/s) node:2(uplink=1GB/s) core:2"), 1000), 1.5);
  EXPECT_EQ(bound_of(machine("core:8"), 1000), 0);
}

} // namespace
} // namespace strata::sim
