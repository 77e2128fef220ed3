// SPDX-License-Identifier: BSD-3-Clause
#include "topo/link_matrix.h"

#include "base/median.h"

#include <map>

namespace strata::topo {

LinkMatrix link_matrix(std::int32_t nodes, std::span<const TransferRate> rates,
                       std::span<const PairLatency> latencies) {
  LinkMatrix matrix;
  matrix.nodes = nodes;
  const auto count = static_cast<std::size_t>(nodes);
  matrix.latency.assign(count * count, 0);
  matrix.bandwidth = matrix.latency;
  const auto cell = [&](std::int32_t from, std::int32_t to) {
    return static_cast<std::size_t>(from) * count + static_cast<std::size_t>(to);
  };
  std::map<std::size_t, std::vector<double>> seen;
  for (const TransferRate& rate : rates)
    seen[cell(rate.from, rate.to)].push_back(rate.bytes_per_second);
  for (auto& [index, values] : seen)
    matrix.bandwidth[index] = median(std::move(values));
  for (const PairLatency& pair : latencies)
    if (double& least = matrix.latency[cell(pair.from, pair.to)]; least == 0 || pair.seconds < least)
      least = pair.seconds;
  return matrix;
}

} // namespace strata::topo
