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

} // namespace strata::topo
