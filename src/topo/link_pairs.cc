// SPDX-License-Identifier: BSD-3-Clause
#include "topo/link_pairs.h"

#include <algorithm>
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

} // namespace strata::topo
