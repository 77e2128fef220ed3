// SPDX-License-Identifier: BSD-3-Clause
#include "tune/choice.h"

#include <gtest/gtest.h>

namespace strata::tune {
namespace {

/// Two racks of two nodes of two ranks, nodes interleaved, each uplink half of a NIC.
Situation two_racks() {
  std::vector<topo::RankFacts> facts;
  for (std::int32_t rank = 0; rank < 8; ++rank)
    facts.push_back({.memory_group = rank / 2});
  const std::vector<std::uint32_t> cores(8, 2);
  const std::vector<std::int32_t> rack_of{0, 1, 0, 1};
  const topo::Hierarchy plain = topo::hierarchy_from(facts);
  Situation situation;
  situation.parameters = default_parameters();
  LinkParameters& network = situation.parameters.links[static_cast<std::size_t>(topo::LinkKind::network)];
  network.per_byte = 1 / 118e6;
  situation.parameters.links[static_cast<std::size_t>(topo::LinkKind::uplink)] = network;
  situation.parameters.links[static_cast<std::size_t>(topo::LinkKind::uplink)].per_byte = 1 / 59e6;
  situation.job = shape_of(topo::with_racks(plain, facts, rack_of), facts, cores);
  situation.plain = shape_of(plain, facts, cores);
  note_racks(*situation.plain, situation.job);
  situation.wire_bytes = wire_bytes_for(0);
  return situation;
}

TEST(Choice, GoesRackByRackForLongVectorsBehindNarrowUplinks) {
  const Situation situation = two_racks();
  const Choice choice = choose(situation, Options{}, size_class(std::size_t{8} << 20));
  ASSERT_EQ(choice.chosen.kind, Candidate::Kind::schedule);
  EXPECT_FALSE(choice.chosen.plain) << choice.chosen.name();
  EXPECT_EQ(choice.chosen.composition.levels.size(), 3U);
  // The uplink carries each byte once each way (two racks: 2 (2-1)/2), and nothing is faster than that.
  EXPECT_GE(choice.chosen.seconds, 8.0 * (1 << 20) / 59e6);
  EXPECT_LE(choice.chosen.seconds, 1.3 * 8.0 * (1 << 20) / 59e6);
}

TEST(Choice, HasTheWaysWithoutRacksAmongItsCandidates) {
  const Situation situation = two_racks();
  const Choice choice = choose(situation, Options{}, size_class(8));
  std::size_t plain = choice.chosen.plain ? 1 : 0;
  for (const Candidate& candidate : choice.runners_up)
    plain += candidate.plain ? 1 : 0;
  EXPECT_GT(plain, 0U);
}

TEST(Model, LetsAllRanksOfARackShareItsUplink) {
  Situation situation = two_racks();
  EXPECT_EQ(situation.job.ranks_per_rack, 4);
  EXPECT_NEAR(situation.plain->crossing, 2.0 / 3, 1e-9); // two of three other nodes are in the other rack
  EXPECT_EQ(situation.job.crossing, 0);
}

} // namespace
} // namespace strata::tune
