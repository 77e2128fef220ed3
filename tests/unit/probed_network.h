// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "network_model.h"
#include "tune/probe.h"

namespace strata::tune {

/// Runs the part of a probe that is about links on a network that is computed.
inline void measure_links(Probe& probe, NetworkModel& network) {
  while (probe.measures_links()) {
    const std::vector<std::int32_t> partners = probe.partners();
    const bool one_way = probe.part() == Probe::Part::links_one_way;
    const auto way = probe.ascending() ? NetworkModel::Ways::ascending : NetworkModel::Ways::descending;
    const std::vector<double> received = network.exchange(partners, one_way ? way : NetworkModel::Ways::both);
    std::vector<Probe::Observation> seen;
    for (std::size_t node = 0; node < received.size(); ++node) {
      const double latency = partners[node] < 0 ? 0 : network.latency(node, static_cast<std::size_t>(partners[node]));
      seen.push_back({received[node], latency, 2 * probe.sending_seconds(), 0});
    }
    probe.settle(seen);
  }
}

inline Probe probed(NetworkModel& network, double share = 1) {
  Probe probe(network.nodes(), share);
  measure_links(probe, network);
  return probe;
}

} // namespace strata::tune
