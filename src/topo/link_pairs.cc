// SPDX-License-Identifier: BSD-3-Clause
#include "topo/link_pairs.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace strata::topo {
namespace {

constexpr std::size_t most_pairs_between_nodes = 16;

bool share_cache(const RankFacts& one, const RankFacts& other) { return one.cache >= 0 && one.cache == other.cache; }

/// How far from each other two ranks of a node are that share no cache.
int distance(const RankFacts& one, const RankFacts& other) {
  const auto differ = [](std::int32_t here, std::int32_t there) { return here >= 0 && there >= 0 && here != there; };
  return differ(one.package, other.package) ? 2 : differ(one.numa, other.numa) ? 1 : 0;
}

/// Of the ranks of a node, ascending.
RankPair nearest(std::span<const RankFacts> facts, const std::vector<std::int32_t>& ranks) {
  std::map<std::int32_t, std::int32_t> first_of_cache;
  for (const std::int32_t rank : ranks) {
    const RankFacts& fact = facts[static_cast<std::size_t>(rank)];
    if (fact.cache < 0) continue;
    const auto [known, added] = first_of_cache.try_emplace(fact.cache, rank);
    if (!added) return {known->second, rank};
  }
  return {};
}

/// The lowest rank and one that is as far from it as any.
RankPair farthest(std::span<const RankFacts> facts, const std::vector<std::int32_t>& ranks) {
  const RankFacts& first = facts[static_cast<std::size_t>(ranks.front())];
  RankPair found;
  int most = -1;
  for (const std::int32_t rank : std::span(ranks).subspan(1)) {
    const RankFacts& fact = facts[static_cast<std::size_t>(rank)];
    if (share_cache(first, fact) || distance(first, fact) <= most) continue;
    most = distance(first, fact);
    found = {ranks.front(), rank};
  }
  return found;
}

RankPair in_order(std::int32_t one, std::int32_t other) { return {std::min(one, other), std::max(one, other)}; }

/// `nodes` by rack, each node by its first rank.
std::vector<RankPair> between(LinkKind kind, const std::map<std::int32_t, std::vector<std::int32_t>>& nodes) {
  std::vector<RankPair> pairs;
  std::int32_t waiting = -1; // the first node of a rack that has no partner
  for (const auto& [rack, first_ranks] : nodes) {
    for (std::size_t node = 1; kind == LinkKind::network && node < first_ranks.size(); node += 2)
      pairs.push_back(in_order(first_ranks[node - 1], first_ranks[node]));
    if (kind != LinkKind::uplink) continue;
    if (waiting >= 0) pairs.push_back(in_order(waiting, first_ranks.front()));
    waiting = waiting >= 0 ? -1 : first_ranks.front();
  }
  if (pairs.size() <= most_pairs_between_nodes) return pairs;
  // From all over the machine, not from its first rack.
  for (std::size_t i = 0; i < most_pairs_between_nodes; ++i)
    pairs[i] = pairs[i * pairs.size() / most_pairs_between_nodes];
  pairs.resize(most_pairs_between_nodes);
  return pairs;
}

} // namespace

std::vector<RankPair> pairs_joined_by(LinkKind kind, std::span<const RankFacts> facts,
                                      std::span<const std::int32_t> rack_of) {
  std::map<std::int32_t, std::vector<std::int32_t>> ranks_of_node;
  for (std::size_t rank = 0; rank < facts.size(); ++rank)
    ranks_of_node[facts[rank].memory_group].push_back(static_cast<std::int32_t>(rank));
  std::map<std::int32_t, std::vector<std::int32_t>> nodes_of_rack;
  std::vector<RankPair> pairs;
  for (const auto& [node, ranks] : ranks_of_node) {
    nodes_of_rack[rack_of.empty() ? 0 : rack_of[static_cast<std::size_t>(node)]].push_back(ranks.front());
    if (between_nodes(kind)) continue;
    const RankPair pair = kind == LinkKind::shared_cache ? nearest(facts, ranks) : farthest(facts, ranks);
    if (pair.first >= 0) pairs.push_back(pair);
  }
  return between_nodes(kind) ? between(kind, nodes_of_rack) : pairs;
}

namespace {

/// Of `count` things in blocks of at most `most`, as even as may be: the block of one of them.
struct Block {
  std::size_t begin, size;
};
Block block_of(std::size_t one, std::size_t count, std::size_t most) {
  const std::size_t blocks = (count + most - 1) / most;
  const auto begin = [&](std::size_t block) { return block * count / blocks; };
  std::size_t block = 0;
  while (begin(block + 1) <= one)
    ++block;
  return {begin(block), begin(block + 1) - begin(block)};
}

} // namespace

RingNeighbours ring_neighbours(std::int32_t rank, std::span<const RankFacts> facts,
                               std::span<const std::int32_t> rack_of, int messages) {
  constexpr std::size_t most_nodes = 8, most_places = 4;
  constexpr double golden_ratio = 0.6180339887498949; // its multiples, without their whole parts, are spread evenly
  std::map<std::int32_t, std::vector<std::int32_t>> ranks_of_node;
  for (std::size_t one = 0; one < facts.size(); ++one)
    ranks_of_node[facts[one].memory_group].push_back(static_cast<std::int32_t>(one));
  const std::int32_t own = facts[static_cast<std::size_t>(rank)].memory_group;
  const auto rack = [&](std::int32_t node) { return rack_of.empty() ? 0 : rack_of[static_cast<std::size_t>(node)]; };
  std::vector<std::pair<double, std::int32_t>> nodes; // of this rack, in the order of the ring
  std::size_t places = SIZE_MAX;
  for (const auto& [node, ranks] : ranks_of_node) {
    places = std::min(places, ranks.size());
    if (rack(node) == rack(own))
      nodes.emplace_back(std::fmod(golden_ratio * static_cast<double>(nodes.size()), 1), node);
  }
  std::sort(nodes.begin(), nodes.end());
  const auto at_own = std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.second == own; });
  const std::vector<std::int32_t>& mine = ranks_of_node[own];
  const auto node = static_cast<std::size_t>(at_own - nodes.begin());
  const auto place = static_cast<std::size_t>(std::find(mine.begin(), mine.end(), rank) - mine.begin());
  if (nodes.size() < 2 || place >= places) return {};
  const Block of_nodes = block_of(node, nodes.size(), most_nodes), of_places = block_of(place, places, most_places);
  const std::size_t size = of_nodes.size * of_places.size;
  const std::size_t self = (place - of_places.begin) * of_nodes.size + node - of_nodes.begin;
  const auto at = [&](std::size_t index) {
    const std::int32_t of_index = nodes[of_nodes.begin + index % of_nodes.size].second;
    return ranks_of_node[of_index][of_places.begin + index % size / of_nodes.size];
  };
  RingNeighbours ring;
  ring.size = static_cast<std::int32_t>(size);
  ring.is_first = self == 0;
  for (std::size_t distance = 1; distance < size && ring.to.size() < static_cast<std::size_t>(messages); ++distance) {
    if (distance % of_nodes.size == 0) continue; // the same node
    ring.to.push_back(at(self + distance));
    ring.from.push_back(at(self + size - distance));
  }
  return ring;
}

} // namespace strata::topo
