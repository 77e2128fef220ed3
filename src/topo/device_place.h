// SPDX-License-Identifier: BSD-3-Clause
// Where the devices lie that the ranks work with, and the levels inside nodes that come of it: vectors that stay in
// device memory take the ways between the devices, whichever cores the ranks run on.
//
//     ranks whose                                   are a group of the level
//     device is the same                            device
//     devices are behind one bridge (PCI switch)    bridge
//     devices have the same nearest network card    card
//     devices are at one NUMA node, or package      numa, package
//     devices are joined by direct links            nvlink
#pragma once

#include "topo/hierarchy.h"

#include <optional>

namespace strata::topo {

/// Far end of a direct link that is a switch of such links: all of a machine count as one, for those of one board lead
/// to those of another by ways that no device sees.
inline constexpr const char* switch_of_links = "switch";

/// Of the device that a rank works with. Equal numbers mean the same object, and are compared only within one machine;
/// -1: not known.
struct DevicePlace {
  std::string address;      ///< on PCI, "0000:3b:00.0"
  std::int32_t bridge = -1; ///< the first between the processor and it: what is behind one shares its way there
  /// The network card that is nearest to it, if it is not as near to all of the machine; of several, the first on PCI.
  std::int32_t card = -1;
  std::int32_t numa = -1;
  std::int32_t package = -1;
  std::vector<std::string> linked; ///< the far ends of its direct links: PCI addresses of devices, or switch_of_links
  bool operator==(const DevicePlace&) const = default;
};

/// "0000:3b:00.0 12 3 0 0 0000:86:00.0,0000:af:00.0"; for other ranks.
std::string to_text(const DevicePlace& place);
/// None where that function did not write it.
std::optional<DevicePlace> device_place_from(const std::string& text);

/// The hierarchy with other levels inside the nodes: those of the devices, by rank in `places`. Levels between nodes
/// stay. Devices of these ranks that direct links join, through switches of links or through each other, are one group,
/// which no bridge, card, NUMA node or package divides: their ways do not lead through these. A level that some rank of
/// a node does not know has the groups of the next one outwards there, as in hierarchy_from().
Hierarchy with_devices(const Hierarchy& hierarchy, std::span<const RankFacts> facts,
                       std::span<const DevicePlace> places);

} // namespace strata::topo
