// SPDX-License-Identifier: BSD-3-Clause
// What a probe saw of each pair of nodes.
#pragma once

#include "topo/outliers.h"

#include <cstdint>
#include <span>
#include <vector>

namespace strata::topo {

/// By `from * nodes + to`; 0 where the pair has not met, and for a node with itself.
struct LinkMatrix {
  std::int32_t nodes = 0;
  std::vector<double> latency;   ///< seconds, the least
  std::vector<double> bandwidth; ///< bytes per second, the median over rounds
};

LinkMatrix link_matrix(std::int32_t nodes, std::span<const TransferRate> rates, std::span<const PairLatency> latencies);

} // namespace strata::topo
