// SPDX-License-Identifier: BSD-3-Clause
#include "network_model.h"
#include "tune/probe.h"

#include <gtest/gtest.h>

#include <set>

namespace strata::tune {
namespace {

/// Runs a probe to its end on a network that is computed.
Probe probed(NetworkModel& network, double share = 1) {
  Probe probe(network.nodes(), share);
  while (!probe.finished()) {
    const std::vector<std::int32_t> partners = probe.partners();
    const std::vector<double> received = network.exchange(partners);
    std::vector<Probe::Observation> seen;
    for (const double rate : received)
      seen.push_back({rate, 20e-6, 2 * probe.sending_seconds(), 0});
    probe.settle(seen);
  }
  return probe;
}

TEST(Probe, PairsEveryNodeWithEveryOtherOnceInAPass) {
  for (std::int32_t nodes = 2; nodes <= 17; ++nodes) {
    Probe probe(nodes, 1);
    std::set<std::pair<std::int32_t, std::int32_t>> met;
    for (std::int32_t round = 0; round < (nodes % 2 == 0 ? nodes - 1 : nodes); ++round) {
      const std::vector<std::int32_t> partners = probe.partners();
      for (std::int32_t node = 0; node < nodes; ++node) {
        const std::int32_t partner = partners[static_cast<std::size_t>(node)];
        if (partner < 0) continue;
        ASSERT_EQ(partners[static_cast<std::size_t>(partner)], node);
        if (node > partner) continue;
        EXPECT_TRUE(met.insert({node, partner}).second) << nodes << " nodes, round " << round;
      }
      probe.settle(std::vector<Probe::Observation>(static_cast<std::size_t>(nodes)));
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(nodes * (nodes - 1) / 2)) << nodes << " nodes";
  }
}

TEST(Probe, FindsRacksWhoseUplinkIsAQuarterAHalfOrAWholeNic) {
  for (const double uplink : {0.25, 0.5, 1.0})
    for (const std::int32_t racks : {2, 3})
      for (const std::int32_t each : {2, 3, 4, 7})
        for (unsigned seed = 1; seed <= 20; ++seed) {
          NetworkModel network(racks * each, 118e6, 0.06, seed);
          network.put_into_racks(racks, uplink * 118e6);
          const Probe probe = probed(network);
          ASSERT_EQ(probe.racks().rack_of, network.rack_of())
              << racks << " racks of " << each << ", uplink " << uplink << ", seed " << seed;
          EXPECT_NEAR(probe.racks().uplink, uplink * 118e6, 0.15 * uplink * 118e6);
        }
}

TEST(Probe, FindsManyRacksOfALargeClusterInFewRounds) {
  NetworkModel network(256, 12e9, 0.05, 7);
  network.put_into_racks(8, 4 * 12e9);
  const Probe probe = probed(network);
  EXPECT_EQ(probe.racks().rack_of, network.rack_of());
  EXPECT_LE(probe.rounds(), 2 * 64);
}

TEST(Probe, InventsNoRacks) {
  for (std::int32_t nodes = 2; nodes <= 16; ++nodes)
    for (unsigned seed = 1; seed <= 40; ++seed) {
      NetworkModel network(nodes, 118e6, 0.15, seed);
      EXPECT_EQ(probed(network).racks().racks, 1) << nodes << " nodes, seed " << seed;
    }
}

TEST(Probe, TakesASlowNodeForWhatItIs) {
  NetworkModel network(6, 118e6, 0.05, 3);
  network.slow_down(4, 0.25);
  const Probe probe = probed(network);
  EXPECT_EQ(probe.racks().racks, 1);
  ASSERT_EQ(probe.racks().slow.size(), 1U);
  EXPECT_EQ(probe.racks().slow[0].node, 4);
  EXPECT_NEAR(probe.racks().slow[0].factor, 0.25, 0.05);
  EXPECT_NEAR(probe.racks().node_rate, 118e6, 0.2 * 118e6);
}

TEST(Probe, FindsRacksBesideASlowNode) {
  NetworkModel network(8, 118e6, 0.05, 3);
  network.put_into_racks(2, 59e6);
  network.slow_down(5, 0.5);
  EXPECT_EQ(probed(network).racks().rack_of, network.rack_of());
}

TEST(Probe, IsPaidOutOfWhatCallsTook) {
  Probe probe(4, 0.05);
  EXPECT_FALSE(probe.due());
  double calls = 0;
  for (; !probe.due(); calls += 0.01)
    probe.earn(0.01);
  EXPECT_GT(calls, 1);
  probe.settle(std::vector<Probe::Observation>(4, {118e6, 0, 0.4, 0}));
  EXPECT_FALSE(probe.due());
  for (; !probe.due(); calls += 0.01)
    probe.earn(0.01);
  EXPECT_GE(0.05 * calls, 0.4);
}

TEST(Probe, WithoutAShareIsNeverDue) {
  Probe probe(4, 0);
  probe.earn(1e9);
  EXPECT_FALSE(probe.due());
}

TEST(Probe, EndsWithoutRacksWhenANodeCouldNotExchange) {
  Probe probe(4, 1);
  std::vector<Probe::Observation> seen(4, {118e6, 0, 0.1, 0});
  seen[2].failed = 1;
  probe.settle(seen);
  EXPECT_TRUE(probe.finished());
  EXPECT_TRUE(probe.failed());
  EXPECT_EQ(probe.racks().racks, 1);
}

} // namespace
} // namespace strata::tune
