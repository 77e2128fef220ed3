// SPDX-License-Identifier: BSD-3-Clause
// Nodes, network cards and links that are not like the others, out of what a probe saw.
#pragma once

#include "topo/racks.h"

#include <cstdint>
#include <span>
#include <vector>

namespace strata::topo {

/// Half of the time that an empty message from one node to another and its answer took, at best in one round.
struct PairLatency {
  std::int32_t from = 0;
  std::int32_t to = 0;
  double seconds = 0;
};

/// What a node's card carries at best, relative to the median of the nodes; 1 the way that it is like the others.
struct SlowCard {
  std::int32_t node = 0;
  double sends = 1;
  double receives = 1;
};

/// A node that takes longer to answer, whoever asks.
struct SlowNode {
  std::int32_t node = 0;
  double latency = 1; ///< relative to the median of pairs of the same kind: in one rack, or of two
};

/// A link that carries less one way than the other, though the cards at its ends do not.
struct AsymmetricLink {
  std::int32_t from = 0; ///< the slow way
  std::int32_t to = 0;
  double bandwidth = 1; ///< relative to the other way
};

/// A node whose cores copy and reduce less.
struct SlowCores {
  std::int32_t node = 0;
  double rate = 1; ///< relative to the median of the nodes
};

struct Outliers {
  std::vector<SlowCard> cards;       ///< by node
  std::vector<SlowNode> nodes;       ///< by node
  std::vector<AsymmetricLink> links; ///< by the lower node
  std::vector<SlowCores> cores;      ///< by node; see slow_cores()
};

/// What is clearly slower than the rest: cards and links below `clearly_slow`, nodes above `clearly_late`. Of two nodes
/// only the link can be told to be uneven. A pair counts as the median of its rounds, and one that met only once when
/// it is slower than `surely_slow`, so that noise is not taken for a fault. `rack_of` by node. Deterministic.
Outliers outliers_of(std::span<const std::int32_t> rack_of, std::span<const TransferRate> rates,
                     std::span<const PairLatency> latencies);

/// Whether a pair of one rack is clearly slower than the best of its nodes, in the median of its rounds: a link of its
/// own that is slow, one way or both.
bool has_slow_pair(std::span<const std::int32_t> rack_of, std::span<const TransferRate> rates);

/// Nodes whose cores are clearly slower than the rest, of three nodes at least. `rate_of_node`: 0 where it is not
/// known.
std::vector<SlowCores> slow_cores(std::span<const double> rate_of_node);

inline constexpr double clearly_slow = 0.6; ///< of what the others carry
inline constexpr double surely_slow = 0.4;
inline constexpr double clearly_late = 2; ///< times what the others take

} // namespace strata::topo
