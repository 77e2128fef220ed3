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

} // namespace
} // namespace strata::topo
