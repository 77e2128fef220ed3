// SPDX-License-Identifier: BSD-3-Clause
// Pairs of ranks that stand for all that are joined by a link of the same kind.
#pragma once

#include "topo/hierarchy.h"

#include <cstdint>
#include <span>
#include <vector>

namespace strata::topo {

struct RankPair {
  std::int32_t first = -1, second = -1; ///< the lower rank is the first
  bool operator==(const RankPair&) const = default;
};

/// Pairs joined by a link of that kind, each rank in one at most, so that all of them may exchange messages at the same
/// time: in a node one pair, of the nearest ranks (shared_cache) or of the farthest that share no cache
/// (shared_memory); between nodes up to 16 pairs of first ranks, in one rack (network) or of two (uplink), of which no
/// two pairs use the uplink of one rack. `rack_of` is by memory group. Empty where no ranks are joined in that way.
std::vector<RankPair> pairs_joined_by(LinkKind kind, std::span<const RankFacts> facts,
                                      std::span<const std::int32_t> rack_of);

/// Whom a rank sends to and receives from when all send at once.
struct RingNeighbours {
  std::vector<std::int32_t> to, from; ///< empty: it takes no part
  std::int32_t size = 0;              ///< of the ring
  bool is_first = false;              ///< of the ring
  bool operator==(const RingNeighbours&) const = default;
};

/// The most messages of a rank in ring_neighbours().
inline constexpr int most_in_ring = 3;

/// Of rings through the ranks that all nodes have, inside a rack: one rank of each node, then another one of each, and
/// so on. Each rank sends to the next `messages` around the ring that are on other nodes, or to fewer where there are
/// no more. A ring has 8 nodes at most, of which 4 ranks; where there are more, there are several rings. Nodes are not
/// in their order: what lies near each other in the machine is to be near and far in the ring. `rack_of` is by memory
/// group.
RingNeighbours ring_neighbours(std::int32_t rank, std::span<const RankFacts> facts,
                               std::span<const std::int32_t> rack_of, int messages);

} // namespace strata::topo
