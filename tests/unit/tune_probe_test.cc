// SPDX-License-Identifier: BSD-3-Clause
#include "probed_network.h"

#include <gtest/gtest.h>

#include <set>

namespace strata::tune {
namespace {

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

TEST(Probe, TakesASlowNodeForNoRack) {
  NetworkModel network(6, 118e6, 0.05, 3);
  network.slow_down(4, 0.25);
  const Probe probe = probed(network);
  EXPECT_EQ(probe.racks().racks, 1);
  EXPECT_NEAR(probe.racks().node_rate, 118e6, 0.2 * 118e6);
}

TEST(Probe, FindsRacksBesideASlowNode) {
  NetworkModel network(8, 118e6, 0.05, 3);
  network.put_into_racks(2, 59e6);
  network.slow_down(5, 0.5);
  EXPECT_EQ(probed(network).racks().rack_of, network.rack_of());
}

TEST(Probe, TellsTheLatencyInARackFromThatBetweenRacks) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    NetworkModel network(8, 118e6, 0.06, seed);
    network.put_into_racks(2, 59e6);
    const Probe probe = probed(network);
    ASSERT_EQ(probe.racks().rack_of, network.rack_of()) << "seed " << seed;
    EXPECT_NEAR(probe.latency(), 20e-6, 2e-6) << "seed " << seed;
    EXPECT_NEAR(probe.latency_across(), 40e-6, 4e-6) << "seed " << seed;
  }
}

TEST(Probe, WithoutRacksHasTheLatencyOfAllPairs) {
  NetworkModel network(8, 118e6, 0.06, 1);
  const Probe probe = probed(network);
  ASSERT_EQ(probe.racks().racks, 1);
  EXPECT_NEAR(probe.latency(), 20e-6, 2e-6);
  EXPECT_EQ(probe.latency_across(), 0);
}

TEST(Probe, HasTheLatencyBetweenRacksWhereNoneWasSeenInThem) {
  NetworkModel network(8, 118e6, 0.06, 1);
  network.put_into_racks(2, 59e6);
  Probe probe(8, 1);
  while (probe.measures_links()) {
    const std::vector<std::int32_t> partners = probe.partners();
    std::vector<Probe::Observation> seen = observed(probe, network, 0.1);
    for (std::size_t node = 0; node < seen.size(); ++node)
      if (network.rack_of()[node] == network.rack_of()[static_cast<std::size_t>(partners[node])])
        seen[node].latency = 0;
    probe.settle(seen);
  }
  ASSERT_EQ(probe.racks().rack_of, network.rack_of());
  EXPECT_NEAR(probe.latency(), 40e-6, 4e-6);
  EXPECT_EQ(probe.latency(), probe.latency_across());
}

TEST(Probe, NeedsOnePassWhereRacksAreThoseThatWereGuessed) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    NetworkModel network(8, 118e6, 0.06, seed);
    network.put_into_racks(2, 59e6);
    Probe probe(8, 1, network.rack_of());
    measure_links(probe, network);
    EXPECT_EQ(probe.rounds(), 7) << "seed " << seed;
    EXPECT_EQ(probe.racks().rack_of, network.rack_of());
    EXPECT_EQ(probe.guess_confirmed(), true);
  }
}

TEST(Probe, DoesNotBelieveAWrongGuess) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    NetworkModel network(8, 118e6, 0.06, seed);
    Probe nothing_there(8, 1, {0, 0, 0, 0, 1, 1, 1, 1});
    measure_links(nothing_there, network);
    EXPECT_EQ(nothing_there.racks().racks, 1) << "seed " << seed;
    EXPECT_EQ(nothing_there.guess_confirmed(), false);

    NetworkModel racks(8, 118e6, 0.06, seed);
    racks.put_into_racks(2, 59e6);
    std::vector<std::int32_t> other = racks.rack_of();
    std::swap(*std::find(other.begin(), other.end(), 1), other.back() == 1 ? other[0] : other.back());
    Probe probe(8, 1, other);
    measure_links(probe, racks);
    EXPECT_EQ(probe.racks().rack_of, racks.rack_of()) << "seed " << seed;
    EXPECT_EQ(probe.guess_confirmed(), false);
  }
}

TEST(RacksByName, AreThoseOfNodesAtOneSwitch) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(topo::racks_by_name(Names{"b", "a", "b", "a"}), (std::vector<std::int32_t>{0, 1, 0, 1}));
  EXPECT_TRUE(topo::racks_by_name(Names{"b", "a", "b", ""}).empty()) << "one says nothing";
  EXPECT_TRUE(topo::racks_by_name(Names{"b", "b", "b", "b"}).empty()) << "no two racks";
  EXPECT_TRUE(topo::racks_by_name(Names{"b", "a", "b", "c"}).empty()) << "no two of two nodes";
}

/// A probe after its links, and the memory of two ranks on each of three nodes.
struct MemoryPart {
  Probe probe;
  std::vector<Probe::MemorySample> samples{6};
  const std::vector<std::int32_t> node_of_rank{0, 0, 1, 1, 2, 2};

  MemoryPart() : probe(probe_of_three()) {}
  static Probe probe_of_three() {
    NetworkModel network(3, 118e6, 0.01, 1);
    return probed(network);
  }
  /// Each rank's sample, scaled; the cache's share as well.
  void settle(std::vector<double> factors, double elapsed = 0.02) {
    for (std::size_t rank = 0; rank < factors.size(); ++rank)
      samples[rank] = {{40e9 * factors[rank], 20e9 * factors[rank]},
                       {8e9 * factors[rank], 6e9 * factors[rank]},
                       elapsed,
                       32e6 * factors[rank]};
    probe.settle_memory(samples, node_of_rank);
  }
};

TEST(Probe, EndsWithWhatCoresCopyAndReduceAloneAndTogether) {
  MemoryPart part;
  EXPECT_EQ(part.probe.part(), Probe::Part::memory_alone);
  part.settle({1, 0, 1, 0, 1, 0});
  EXPECT_EQ(part.probe.part(), Probe::Part::memory_together);
  part.settle({0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
  EXPECT_EQ(part.probe.part(), Probe::Part::messages);
  EXPECT_EQ(part.probe.cache(), (MemoryRates{40e9, 20e9, 20e9, 10e9}));
  EXPECT_EQ(part.probe.memory(), (MemoryRates{8e9, 4e9, 6e9, 3e9}));
  EXPECT_EQ(part.probe.cache_share(), 16e6) << "while all are busy";
  EXPECT_TRUE(part.probe.outliers().cores.empty());
}

// By link, from the inside out; the medians of what pairs saw.
TEST(Probe, EndsWithWhatMessagesTakeByLink) {
  MemoryPart part;
  part.settle({1, 0, 1, 0, 1, 0});
  part.settle({1, 1, 1, 1, 1, 1});
  const auto sample = [](double seconds) {
    Probe::MessageSample seen;
    seen.times.strata[1] = seconds;
    seen.times.native[4] = 2 * seconds;
    seen.elapsed = 0.05;
    return seen;
  };
  EXPECT_EQ(part.probe.link(), topo::LinkKind::shared_cache);
  part.probe.settle_messages(std::vector<Probe::MessageSample>{sample(1e-6), {}, sample(3e-6), {}, sample(90e-6), {}});
  EXPECT_EQ(part.probe.link(), topo::LinkKind::shared_memory);
  part.probe.settle_messages({});
  const double spent = part.probe.spent();
  EXPECT_GT(part.probe.message_seconds(), 5 * Probe::seconds_of_a_size) << "256 KiB take 2 ms at 118 MB/s";
  part.probe.settle_messages(std::vector<Probe::MessageSample>{sample(7e-6)});
  EXPECT_DOUBLE_EQ(part.probe.spent(), spent + 0.05);
  EXPECT_EQ(part.probe.part(), Probe::Part::messages);
  part.probe.settle_messages({});
  EXPECT_EQ(part.probe.part(), Probe::Part::messages_of_all);
  MessageTimesByLink wanted{};
  wanted[0].strata[1] = 3e-6;
  wanted[0].native[4] = 6e-6;
  wanted[2].strata[1] = 7e-6;
  wanted[2].native[4] = 14e-6;
  EXPECT_EQ(part.probe.messages(), wanted);
}

/// Of three nodes of two ranks, in microseconds: what all of them need for one message each and for three.
struct Crowd {
  double one, three;
};
Probe with_crowd(const std::vector<Crowd>& by_rank) {
  MemoryPart part;
  part.settle({1, 0, 1, 0, 1, 0});
  part.settle({1, 1, 1, 1, 1, 1});
  while (part.probe.part() == Probe::Part::messages)
    part.probe.settle_messages({});
  EXPECT_FALSE(part.probe.finished());
  const double spent = part.probe.spent();
  std::vector<Probe::CrowdSample> samples;
  for (const Crowd& rank : by_rank)
    samples.push_back({rank.one * 1e-6, rank.three * 1e-6, 3, 0.04});
  part.probe.settle_messages_of_all(samples, part.node_of_rank);
  EXPECT_TRUE(part.probe.finished());
  EXPECT_DOUBLE_EQ(part.probe.spent(), spent + 0.04);
  EXPECT_FALSE(part.probe.failed());
  return part.probe;
}

TEST(Probe, KnowsTheGapBetweenTheMessagesOfANode) {
  EXPECT_NEAR(*with_crowd({{80, 240}, {80, 240}, {80, 240}, {80, 240}, {80, 240}, {80, 240}}).gap(), 40e-6, 1e-12);
  EXPECT_NEAR(*with_crowd({{80, 240}, {}, {80, 240}, {}, {80, 240}, {}}).gap(), 80e-6, 1e-12) << "one of each node";
  EXPECT_NEAR(*with_crowd({{80, 240}, {80, 240}, {80, 240}, {80, 9e6}, {80, 240}, {80, 240}}).gap(), 40e-6, 1e-12)
      << "one was disturbed";
}

TEST(Probe, TellsHowManyRanksOfANodeSent) {
  const Crowd each{80, 240};
  EXPECT_EQ(with_crowd(std::vector<Crowd>(6, each)).gap_senders(), 2);
  EXPECT_EQ(with_crowd({each, {}, each, {}, each, {}}).gap_senders(), 1);
  EXPECT_EQ(with_crowd(std::vector<Crowd>(6, {80, 80})).gap_senders(), 0) << "there is no gap";
}

TEST(Probe, HasNoGapWhereMoreMessagesHardlyTakeLonger) {
  const auto gap = [](const Crowd& each) { return with_crowd(std::vector<Crowd>(6, each)).gap(); };
  EXPECT_EQ(gap({80, 80}), 0);
  EXPECT_EQ(gap({80, 127}), 0) << "pairs that differ do so, too";
  EXPECT_GT(gap({80, 129}), 0);
  EXPECT_EQ(gap({80, 60}), 0);
  EXPECT_EQ(gap({}), std::nullopt) << "it failed";
  EXPECT_EQ(with_crowd({{2, 1.9}, {1, 5}, {100, 99}, {2, 1.9}, {1, 5}, {100, 99}}).gap(), 0) << "not less than nothing";
}

TEST(Probe, BelievesNoLatencyInARackThatMessagesOfAllUndercut) {
  const auto latency = [](const Crowd& each) { return with_crowd(std::vector<Crowd>(6, each)).latency(); };
  const double alone = latency({});
  ASSERT_GT(alone, 20e-6);
  EXPECT_LT(latency({40 + 5, 40 + 5 + 2 * 40}), alone) << "two messages of a node 20 us each, and 5";
  EXPECT_GE(latency({40 + 5, 40 + 5 + 2 * 40}), 20e-6) << "but no pair was as fast as that";
  EXPECT_EQ(latency({1040, 1740}), alone);
}

TEST(Probe, OfTwoNodesOfARankHasNoMessagesOfAll) {
  for (const auto& [nodes, ranks_of_node] : {std::pair{2, 1}, {2, 2}, {3, 1}}) {
    NetworkModel network(nodes, 118e6, 0.01, 1);
    Probe probe = probed(network, ranks_of_node);
    std::vector<std::int32_t> node_of_rank;
    for (std::int32_t rank = 0; rank < nodes * ranks_of_node; ++rank)
      node_of_rank.push_back(rank / ranks_of_node);
    for (int round = 0; round < 2; ++round)
      probe.settle_memory(std::vector<Probe::MemorySample>(node_of_rank.size(), {{4e9, 2e9}, {4e9, 2e9}, 0.01}),
                          node_of_rank);
    while (probe.part() == Probe::Part::messages)
      probe.settle_messages({});
    EXPECT_EQ(probe.finished(), nodes == 2 && ranks_of_node == 1) << nodes << " nodes of " << ranks_of_node;
    EXPECT_EQ(probe.gap(), std::nullopt);
  }
}

TEST(Probe, OfOneNodeMeasuresMemoryAndMessages) {
  Probe probe(1, 1);
  EXPECT_EQ(probe.part(), Probe::Part::memory_alone);
  const std::vector<std::int32_t> node_of_rank{0, 0};
  for (int round = 0; round < 2; ++round)
    probe.settle_memory(std::vector<Probe::MemorySample>(2, {{4e9, 2e9}, {4e9, 2e9}, 0.01}), node_of_rank);
  while (!probe.finished())
    probe.settle_messages({});
  EXPECT_FALSE(probe.failed());
  EXPECT_EQ(probe.cache().copy_all, 4e9);
}

TEST(Probe, NamesANodeWhoseCoresAreSlow) {
  MemoryPart part;
  part.settle({1, 0, 1, 0, 1, 0});
  part.settle({1, 1, 0.4, 0.4, 1, 0.3});
  ASSERT_EQ(part.probe.outliers().cores.size(), 1U) << "one rank that was disturbed makes no slow node";
  EXPECT_EQ(part.probe.outliers().cores[0].node, 1);
  EXPECT_NEAR(part.probe.outliers().cores[0].rate, 0.4, 1e-9);
}

TEST(Probe, PaysForItsRoundsOfMemoryToo) {
  MemoryPart part;
  EXPECT_FALSE(part.probe.due());
  part.probe.earn(part.probe.spent() + 0.5); // all of what calls take is its share
  EXPECT_TRUE(part.probe.due());
  part.settle({1, 0, 1, 0, 1, 0}, 0.4);
  EXPECT_FALSE(part.probe.due()) << "0.1 s are left for a round that is expected to take 0.4 s";
  part.probe.earn(0.31);
  EXPECT_TRUE(part.probe.due());
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
  EXPECT_GE(0.05 * calls, 0.8) << "what the round took, and the next one, which is expected to take as long";
  EXPECT_LE(0.05 * calls, 0.81);
}

/// Ends the next round of a probe of four nodes, which takes so many seconds.
void settle_round(Probe& probe, NetworkModel& network, double seconds) {
  if (probe.measures_links()) {
    probe.settle(observed(probe, network, seconds));
  } else if (probe.part() == Probe::Part::messages) {
    Probe::MessageSample sample;
    sample.elapsed = seconds;
    probe.settle_messages(std::vector<Probe::MessageSample>(4, sample));
  } else if (probe.part() == Probe::Part::messages_of_all) {
    probe.settle_messages_of_all(std::vector<Probe::CrowdSample>(4, {50e-6, 150e-6, 3, seconds}),
                                 std::vector<std::int32_t>{0, 1, 2, 3});
  } else {
    const Probe::MemorySample sample{{40e9, 20e9}, {8e9, 6e9}, seconds, 32e6};
    probe.settle_memory(std::vector<Probe::MemorySample>(4, sample), std::vector<std::int32_t>{0, 1, 2, 3});
  }
}

/// What its next round is expected to take, if those before took as long as they were expected to.
double expected_seconds(const Probe& probe) {
  constexpr double beside_sending = 0.05, round_of_memory = 0.03, libraries = 2;
  if (probe.measures_links()) return probe.sending_seconds() + beside_sending;
  if (probe.part() == Probe::Part::messages_of_all) return Probe::seconds_of_all;
  return probe.part() == Probe::Part::messages ? libraries * probe.message_seconds() : round_of_memory;
}

// Calls take 10 ms each, of which 5% are the probe's, and a round comes as soon as it is due. All rounds take what they
// are expected to, but for one, each in turn.
TEST(Probe, NeverSpendsMoreThanItsShare) {
  constexpr double share = 0.05, call = 0.01, rounding = 1e-9;
  std::set<Probe::Part> parts;
  int rounds = 1;
  for (int long_round = 0; long_round < rounds; ++long_round) {
    NetworkModel network(4, 118e6, 0.05, 1);
    network.slow_down_sending(1, 0.4); // so that there are rounds one way
    Probe probe(4, share, {}, 2);
    double earned = 0;
    for (rounds = 0; !probe.finished(); ++rounds) {
      for (; !probe.due(); earned += share * call) {
        ASSERT_LT(earned, 100) << "round " << rounds << " never comes";
        probe.earn(call);
      }
      const double expected = expected_seconds(probe);
      EXPECT_GE(earned + rounding, probe.spent() + expected)
          << "round " << rounds << " comes before it is paid for; round " << long_round << " took long";
      const double taken = rounds == long_round ? 3 * expected : expected;
      parts.insert(probe.part());
      settle_round(probe, network, taken);
      EXPECT_LE(probe.spent(), earned + (taken - expected) + rounding)
          << "round " << rounds << "; round " << long_round << " took long";
    }
    EXPECT_FALSE(probe.failed());
  }
  EXPECT_EQ(parts.size(), 6U) << "links both ways and one way, memory alone and together, messages, and those of all";
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
