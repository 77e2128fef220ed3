// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "network_model.h"
#include "tune/probe.h"

namespace strata::tune {

/// What the nodes of a network that is computed see in the next round of links, which takes so many seconds.
inline std::vector<Probe::Observation> observed(const Probe& probe, NetworkModel& network, double seconds) {
  const std::vector<std::int32_t> partners = probe.partners();
  const bool one_way = probe.part() == Probe::Part::links_one_way;
  const auto way = probe.ascending() ? NetworkModel::Ways::ascending : NetworkModel::Ways::descending;
  const std::vector<double> received =
      network.exchange(partners, one_way ? way : NetworkModel::Ways::both, probe.senders());
  std::vector<Probe::Observation> seen;
  for (std::size_t node = 0; node < received.size(); ++node) {
    const double latency = partners[node] < 0 ? 0 : network.latency(node, static_cast<std::size_t>(partners[node]));
    seen.push_back({received[node], latency, seconds, 0});
  }
  return seen;
}

/// Runs the part of a probe that is about links.
inline void measure_links(Probe& probe, NetworkModel& network) {
  while (probe.measures_links())
    probe.settle(observed(probe, network, 2 * probe.sending_seconds()));
}

/// Of nodes of so many ranks each.
inline Probe probed(NetworkModel& network, std::int32_t ranks_of_node = 1) {
  Probe probe(network.nodes(), 1, {}, ranks_of_node);
  measure_links(probe, network);
  return probe;
}

} // namespace strata::tune
