// SPDX-License-Identifier: BSD-3-Clause
// What this process knows of its own place in its machine.
#pragma once

#include "base/core_share.h"
#include "base/options.h"
#include "topo/device_place.h"
#include "topo/hierarchy.h"

namespace strata::topo {

/// This process' place as hwloc sees it; place.memory_group is left 0.
struct LocalFacts {
  RankFacts place;
  CoreShare cores;                    ///< what it may use of them
  std::uint64_t last_level_cache = 0; ///< bytes of the largest cache above this process' cores; 0 unknown
  /// Bytes of the largest cache that one of these cores has to itself. 0: there is none, or it is not known, or this
  /// process is bound to some threads of a core only, so that another may use the same cache.
  std::uint64_t core_cache = 0;
  std::string network_switch; ///< that this node is at by the scheduler's word; empty: it says nothing
  std::string machine;        ///< one line: "1 package, 2 cores, 32 MiB L3"
  std::string trouble;        ///< why hwloc could not be asked; empty when it was
};

/// Asks the module hwloc.so. Without it only `cores` is known, and `trouble` says why. Takes some milliseconds:
/// ask once.
LocalFacts local_facts(const Options& options);

/// Of each core of a machine its cache, NUMA node and package, as the module hwloc.so reads them in `xml`, the text of
/// a file that lstopo wrote. Of hardware threads where the file names no cores. \return an Error when there is no such
/// module, or hwloc does not take the text.
Result<std::vector<RankFacts>> cores_in_xml(const Options& options, const std::string& xml);

/// The network devices of this machine that are nearest to the PCI device at an address ("0000:3b:00.0"): those in the
/// smallest part of the machine that has both, by the module hwloc.so. Empty where there are none.
Result<std::vector<std::string>> networks_near(const Options& options, const std::string& pci_address);

/// Where the device at a PCI address lies in this machine, by the module hwloc.so; nothing of direct links.
Result<DevicePlace> place_of_device(const Options& options, const std::string& pci_address);

/// The innermost switch of a scheduler's words: "s8" of "s0.s4.s8.n7" with "switch.switch.switch.node". Empty when the
/// two do not fit, there is no switch, or the name has more than letters, digits and any of "-_+", or over 64 of them.
std::string innermost_switch(const SchedulerPlace& place);

/// The entry of the module: fills in all but `cores`. False when hwloc cannot load the machine; then `trouble`
/// says why.
using TopologyEntry = bool (*)(LocalFacts* facts);
inline constexpr const char* topology_symbol = "strata_topology_v1";
/// The module's other entry. False when hwloc does not take the text; then `trouble` says why.
using CoresEntry = bool (*)(const std::string& xml, std::vector<RankFacts>* cores, std::string* trouble);
inline constexpr const char* cores_symbol = "strata_cores_v1";
/// And another, of the same kind.
using NetworksEntry = bool (*)(const std::string& pci_address, std::vector<std::string>* names, std::string* trouble);
inline constexpr const char* networks_symbol = "strata_networks_v1";
using DevicePlaceEntry = bool (*)(const std::string& pci_address, DevicePlace* place, std::string* trouble);
inline constexpr const char* device_place_symbol = "strata_device_place_v1";

} // namespace strata::topo
