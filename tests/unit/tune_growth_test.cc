// SPDX-License-Identifier: BSD-3-Clause
// How many ranks of a node a probe lets send at once.
#include "probed_network.h"

#include <gtest/gtest.h>

namespace strata::tune {
namespace {

constexpr double card = 118e6;

using Rates = std::vector<double>;

TEST(Growth, DoublesTheRanksUntilNoMoreIsReached) {
  Growth growth(16);
  EXPECT_TRUE(growth.is_open());
  EXPECT_EQ(growth.senders(), 1);
  EXPECT_FALSE(growth.settle({10, 10})) << "nothing was before";
  EXPECT_EQ(growth.senders(), 2);
  EXPECT_TRUE(growth.settle({20, 20}));
  EXPECT_EQ(growth.senders(), 4);
  EXPECT_TRUE(growth.settle({33, 33}));
  EXPECT_EQ(growth.enough(), 4);
  EXPECT_EQ(growth.senders(), 8);
  EXPECT_TRUE(growth.is_open());
  EXPECT_FALSE(growth.settle({34, 34}));
  EXPECT_FALSE(growth.is_open());
  EXPECT_EQ(growth.senders(), 4) << "eight moved no more";
  EXPECT_EQ(growth.of_one_rank(), (Rates{10, 10}));
}

TEST(Growth, EndsWithAllRanksOfTheSmallestNode) {
  for (const auto& steps : {std::vector{1, 2}, {1, 2, 3}, {1, 2, 5}, {1, 2, 4, 6}, {1, 2, 4, 9}}) {
    Growth growth(steps.back());
    std::vector<int> seen;
    while (growth.is_open()) {
      seen.push_back(growth.senders());
      (void)growth.settle(Rates(2, growth.senders()));
    }
    EXPECT_EQ(seen, steps);
    EXPECT_EQ(growth.senders(), steps.back());
    EXPECT_EQ(growth.enough(), steps.back());
  }
}

TEST(Growth, IsNotOpenOfNodesOfOneRank) { EXPECT_FALSE(Growth(1).is_open()); }

TEST(Growth, NeedsTwoNodesOrAQuarterOfThemToReachMore) {
  EXPECT_TRUE(moves_more(Rates{1, 1}, Rates{2, 2}));
  EXPECT_FALSE(moves_more(Rates{1, 1}, Rates{2, 1})) << "one may be noise";
  EXPECT_FALSE(moves_more(Rates{1, 1}, Rates{1.19, 1.19})) << "not clearly more";
  EXPECT_TRUE(moves_more(Rates{1, 1, 1, 1, 1, 1, 1, 1}, Rates{2, 2, 1, 1, 1, 1, 1, 1}))
      << "the others may be behind a narrow uplink";
  EXPECT_FALSE(moves_more(Rates(16, 1), Rates{2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_FALSE(moves_more(Rates{1, 1, 0}, Rates{2, 0, 2})) << "only one has met a partner twice";
}

TEST(Probe, FindsHowManyRanksFillTheLinksOfANode) {
  for (const std::int32_t nodes : {2, 3, 4, 8, 17, 100})
    for (unsigned seed = 1; seed <= (nodes > 64 ? 2U : 20U); ++seed) {
      NetworkModel network(nodes, 3.4 * card, 0.05, seed);
      network.limit_ranks(card);
      const Probe probe = probed(network, 32);
      ASSERT_FALSE(probe.failed());
      EXPECT_EQ(probe.senders(), 4) << nodes << " nodes, seed " << seed;
      EXPECT_NEAR(probe.racks().node_rate, 3.4 * card, 0.15 * 3.4 * card) << nodes << " nodes, seed " << seed;
      EXPECT_NEAR(probe.rate_of_rank(), card, 0.15 * card) << nodes << " nodes, seed " << seed;
      EXPECT_EQ(probe.racks().racks, 1);
      EXPECT_TRUE(probe.outliers().cards.empty());
    }
}

TEST(Probe, LetsOneRankSendWhereThatFillsTheLinks) {
  for (const std::int32_t nodes : {2, 3, 4, 8})
    for (unsigned seed = 1; seed <= 40; ++seed) {
      NetworkModel network(nodes, card, 0.1, seed);
      const Probe probe = probed(network, 32);
      EXPECT_EQ(probe.senders(), 1) << nodes << " nodes, seed " << seed;
      EXPECT_EQ(probe.rate_of_rank(), 0);
      EXPECT_EQ(probe.racks().racks, 1);
    }
  NetworkModel several(4, card, 0.01, 1), one(4, card, 0.01, 1);
  EXPECT_EQ(probed(several, 32).rounds(), probed(one, 1).rounds()) << "the second pass tells that, too";
}

// Uplinks that carry what one rank of each node sends, but not what its nodes do.
TEST(Probe, FindsRacksThatOnlySeveralRanksOfANodeShow) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto network = [&] {
      NetworkModel made(8, 4 * card, 0.05, seed);
      made.limit_ranks(card);
      made.put_into_racks(2, 4 * card);
      return made;
    };
    NetworkModel one = network(), several = network();
    EXPECT_EQ(probed(one, 1).racks().racks, 1) << "seed " << seed;
    const Probe probe = probed(several, 4);
    EXPECT_EQ(probe.senders(), 4);
    ASSERT_EQ(probe.racks().rack_of, several.rack_of()) << "seed " << seed;
    EXPECT_NEAR(probe.racks().uplink, 4 * card, 0.15 * 4 * card);
  }
}

// Most pairs leave their racks, and there it makes no difference how many ranks of a node send.
TEST(Probe, FindsHowManyRanksItTakesBehindNarrowUplinks) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    NetworkModel network(9, 4 * card, 0.03, seed);
    network.limit_ranks(card);
    network.put_into_racks(3, card);
    const Probe probe = probed(network, 4);
    EXPECT_EQ(probe.senders(), 4) << "seed " << seed;
    EXPECT_EQ(probe.racks().rack_of, network.rack_of()) << "seed " << seed;
    EXPECT_NEAR(probe.rate_of_rank(), card, 0.15 * card);
    EXPECT_NEAR(probe.racks().uplink, card, 0.2 * card);
  }
}

TEST(Probe, NeedsASecondPassOfMoreRanksWhereRacksWereGuessed) {
  NetworkModel network(8, card, 0.03, 1);
  network.put_into_racks(2, card / 2);
  Probe probe(8, 1, network.rack_of(), 2);
  measure_links(probe, network);
  EXPECT_EQ(probe.rounds(), 2 * 7);
  EXPECT_EQ(probe.racks().rack_of, network.rack_of());
}

TEST(Probe, LetsEachOfSeveralRanksSendAsMuchAsOneDid) {
  NetworkModel network(4, 1e3 * card, 0.01, 1);
  network.limit_ranks(card);
  Probe probe(4, 1, {}, 8);
  measure_links(probe, network);
  EXPECT_EQ(probe.senders(), 8);
  EXPECT_NEAR(probe.sending_seconds(), 6e6 / card, 0.1 * 6e6 / card);
}

TEST(Probe, MeasuresNoLinkWhereMoreRanksCouldNotExchange) {
  NetworkModel network(4, card, 0.05, 1);
  Probe probe(4, 1, {}, 2);
  while (probe.senders() == 1)
    probe.settle(observed(probe, network, 0.1));
  std::vector<Probe::Observation> seen = observed(probe, network, 0.1);
  seen[3].failed = 1;
  probe.settle(seen);
  EXPECT_TRUE(probe.failed());
  EXPECT_TRUE(probe.finished());
}

} // namespace
} // namespace strata::tune
