// SPDX-License-Identifier: BSD-3-Clause
// Racks: groups of nodes behind an uplink that they share, found in what pairs of nodes sent each other, many pairs at
// once. One pair at a time cannot see an uplink that is faster than a node's NIC.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace strata::topo {

/// What node `to` received from node `from` while, in the same round, other pairs did the same.
struct TransferRate {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t round = 0;
  double bytes_per_second = 0;
};

/// The most that each node has sent and received, in bytes per second.
struct BestRates {
  std::vector<double> sent, received; ///< by node

  BestRates(std::int32_t nodes, std::span<const TransferRate> rates);
  /// What the two ends of a transfer can do.
  double of_pair(const TransferRate& rate) const;
};

/// What each pair of nodes (the lower one first) reached of what its ends can do at best, both ways.
std::map<std::pair<std::int32_t, std::int32_t>, std::vector<double>>
relative_by_pair(std::span<const TransferRate> rates, const BestRates& best);

/// Racks are numbered by their lowest node.
struct Racks {
  std::vector<std::int32_t> rack_of; ///< by node
  std::int32_t racks = 1;            ///< 1: none were found
  double node_rate = 0;              ///< bytes per second that a node sends or receives at best: the median over nodes
  double uplink = 0;                 ///< bytes per second out of a rack; 0: no racks
  double inside = 1;                 ///< mean rate of pairs of one rack, relative to what their nodes can do at best
  double across = 1;                 ///< the same of pairs of different racks; no racks: of all pairs
  double of_all = 1;                 ///< the same of all pairs
};

/// The same without racks.
Racks without_racks(Racks racks);

/// Racks as names of switches tell them, a name by node. Nothing where a node has none, or where they would not be
/// racks: two of two nodes at least.
std::vector<std::int32_t> racks_by_name(std::span<const std::string> switch_of_node);

/// Racks that explain the rates, or none: two racks of two nodes at least, and pairs across them clearly slower than
/// those inside. Nodes whose every rate is low make no racks. Deterministic. O(nodes^2) memory.
Racks racks_of(std::int32_t nodes, std::span<const TransferRate> rates);

} // namespace strata::topo
