// SPDX-License-Identifier: BSD-3-Clause
#include "topo/link_pairs.h"

#include <gtest/gtest.h>

#include <set>

namespace strata::topo {
namespace {

using Pairs = std::vector<RankPair>;

/// Nodes of so many ranks, in order; each rank has two neighbours in its cache, and four in its package.
std::vector<RankFacts> nodes_of(std::initializer_list<std::int32_t> ranks_of_node) {
  std::vector<RankFacts> facts;
  std::int32_t node = 0;
  for (const std::int32_t ranks : ranks_of_node) {
    for (std::int32_t rank = 0; rank < ranks; ++rank)
      facts.push_back({node, rank / 2, rank / 4, rank / 4});
    ++node;
  }
  return facts;
}

TEST(LinkPairs, InACacheAreTheNearestOfEachNode) {
  EXPECT_EQ(pairs_joined_by(LinkKind::shared_cache, nodes_of({4, 1, 2}), {}), (Pairs{{0, 1}, {5, 6}}));
}

TEST(LinkPairs, InMemoryAreTheFarthestOfEachNode) {
  EXPECT_EQ(pairs_joined_by(LinkKind::shared_memory, nodes_of({6, 4, 2}), {}), (Pairs{{0, 4}, {6, 8}}));
}

TEST(LinkPairs, WithoutFactsShareMemoryAndNoCache) {
  const std::vector<RankFacts> unknown(3);
  EXPECT_EQ(pairs_joined_by(LinkKind::shared_cache, unknown, {}), Pairs{});
  EXPECT_EQ(pairs_joined_by(LinkKind::shared_memory, unknown, {}), (Pairs{{0, 1}}));
}

TEST(LinkPairs, BetweenNodesAreOfFirstRanks) {
  const std::vector<RankFacts> facts = nodes_of({2, 1, 2, 1, 3});
  EXPECT_EQ(pairs_joined_by(LinkKind::network, facts, {}), (Pairs{{0, 2}, {3, 5}}));
  EXPECT_EQ(pairs_joined_by(LinkKind::uplink, facts, {}), Pairs{});
}

TEST(LinkPairs, OfRacksStayInTheirsOrCrossEachUplinkOnce) {
  const std::vector<RankFacts> facts = nodes_of({1, 1, 1, 1, 1, 1});
  const std::vector<std::int32_t> interleaved{0, 1, 2, 0, 1, 2};
  EXPECT_EQ(pairs_joined_by(LinkKind::network, facts, interleaved), (Pairs{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(pairs_joined_by(LinkKind::uplink, facts, interleaved), (Pairs{{0, 1}}));
}

TEST(LinkPairs, OfManyNodesAreASampleOfAll) {
  std::vector<RankFacts> facts(1000);
  for (std::size_t rank = 0; rank < facts.size(); ++rank)
    facts[rank].memory_group = static_cast<std::int32_t>(rank);
  const Pairs pairs = pairs_joined_by(LinkKind::network, facts, {});
  ASSERT_EQ(pairs.size(), 16U);
  EXPECT_GT(pairs.back().first, 900);
  std::set<std::int32_t> ranks;
  for (const RankPair& pair : pairs) {
    EXPECT_TRUE(ranks.insert(pair.first).second);
    EXPECT_TRUE(ranks.insert(pair.second).second);
  }
}

TEST(LinkPairs, OfScatteredRanksAreOfOneNode) {
  // By node: rank 0 and 2 share one, 1 and 3 the other.
  const std::vector<RankFacts> facts{{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 0}};
  EXPECT_EQ(pairs_joined_by(LinkKind::shared_cache, facts, {}), (Pairs{{0, 2}, {1, 3}}));
  EXPECT_EQ(pairs_joined_by(LinkKind::shared_memory, facts, {}), Pairs{});
}

using Ranks = std::vector<std::int32_t>;

TEST(RingsOfRanks, GoThroughTheNodesPlaceByPlace) {
  const std::vector<RankFacts> facts = nodes_of({2, 3, 2}); // nodes 0, 2, 1: the ring is 0, 5, 2, 1, 6, 3
  const auto ring = [&](std::int32_t rank, int messages) { return ring_neighbours(rank, facts, {}, messages); };
  EXPECT_EQ(ring(0, 1), (RingNeighbours{{5}, {3}, 6, true}));
  EXPECT_EQ(ring(2, 1), (RingNeighbours{{1}, {5}, 6, false}));
  EXPECT_EQ(ring(0, 3), (RingNeighbours{{5, 2, 6}, {3, 6, 2}, 6, true})) << "not to rank 1";
  EXPECT_EQ(ring(3, 9).to, (Ranks{0, 5, 1, 6})) << "there are no more on other nodes";
  EXPECT_EQ(ring(4, 3), RingNeighbours{}) << "the third of its node, which not all nodes have";
}

TEST(RingsOfRanks, OfTwoNodesJoinAllTheirRanks) {
  std::vector<RankFacts> facts(4);
  for (std::size_t rank = 0; rank < facts.size(); ++rank)
    facts[rank].memory_group = static_cast<std::int32_t>(rank % 2); // dealt out in turn: the ring is 0, 1, 2, 3
  EXPECT_EQ(ring_neighbours(1, facts, {}, 1), (RingNeighbours{{2}, {0}, 4, false}));
  EXPECT_EQ(ring_neighbours(1, facts, {}, 3), (RingNeighbours{{2, 0}, {0, 2}, 4, false}));
  EXPECT_EQ(ring_neighbours(0, nodes_of({4}), {}, 3), RingNeighbours{});
}

TEST(RingsOfRanks, StayInARack) {
  const std::vector<RankFacts> facts = nodes_of({2, 2, 2, 2, 2});
  const std::vector<std::int32_t> rack_of{0, 1, 0, 1, 2};
  EXPECT_EQ(ring_neighbours(0, facts, rack_of, 3), (RingNeighbours{{4, 5}, {5, 4}, 4, true}));
  EXPECT_EQ(ring_neighbours(7, facts, rack_of, 1), (RingNeighbours{{2}, {3}, 4, false}));
  EXPECT_EQ(ring_neighbours(8, facts, rack_of, 3), RingNeighbours{}) << "its node is alone in its rack";
}

/// Each message that one rank sends is one that its receiver awaits; and rings are short.
TEST(RingsOfRanks, OfManyAreSeveralThatFitTogether) {
  for (const auto& [nodes, places] : {std::pair{17, 1}, {100, 9}, {3, 20}, {16, 8}, {33, 2}}) {
    std::vector<RankFacts> facts;
    for (std::int32_t node = 0; node < nodes; ++node)
      for (std::int32_t place = 0; place < places; ++place)
        facts.emplace_back().memory_group = node;
    std::multiset<std::pair<std::int32_t, std::int32_t>> sent, awaited;
    std::int32_t firsts = 0, to_the_next = 0;
    for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(facts.size()); ++rank) {
      const RingNeighbours ring = ring_neighbours(rank, facts, {}, most_in_ring);
      ASSERT_EQ(ring.to.size(), static_cast<std::size_t>(most_in_ring)) << nodes << " nodes of " << places;
      EXPECT_LE(ring.size, 32);
      firsts += ring.is_first ? 1 : 0;
      const std::int32_t node = facts[static_cast<std::size_t>(rank)].memory_group;
      for (const std::int32_t to : ring.to) {
        EXPECT_NE(facts[static_cast<std::size_t>(to)].memory_group, node);
        sent.emplace(rank, to);
      }
      to_the_next += facts[static_cast<std::size_t>(ring.to.front())].memory_group == node + 1 ? 1 : 0;
      for (const std::int32_t from : ring.from)
        awaited.emplace(from, rank);
    }
    EXPECT_EQ(sent, awaited) << nodes << " nodes of " << places;
    EXPECT_EQ(firsts, (nodes + 7) / 8 * ((places + 3) / 4)) << nodes << " nodes of " << places;
    if (nodes > 8) {
      EXPECT_LT(to_the_next, nodes * places / 4) << "neighbours in the machine are neighbours in the ring";
    }
  }
}

} // namespace
} // namespace strata::topo
