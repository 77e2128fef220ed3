// SPDX-License-Identifier: BSD-3-Clause
// hwloc's answers without its header, which only hwloc.cc includes.
#pragma once

#include "topo/local_facts.h"

namespace strata::topo {

/// A machine by hwloc's words: empty for this one.
struct MachineWords {
  std::string synthetic; ///< a synthetic description, such as "package:2 numa:1 l3:2 core:4 pu:1"
  std::string xml;       ///< or the text of a file that lstopo wrote
};

/// Where a process bound to `cpus` (numbers of the operating system) lies in a machine, and what that machine is. The
/// numbers in `place` are the same for every process on the machine, whatever its control group lets it see.
Result<LocalFacts> place_in_machine(const MachineWords& words, std::span<const int> cpus);

/// The names of the network devices in the smallest part of the machine that has the PCI device at `pci_address`
/// ("0000:3b:00.0") and any of them, sorted. Empty where there is no such device, or none of the network.
Result<std::vector<std::string>> networks_in_machine(const MachineWords& words, const std::string& pci_address);

/// Where the PCI device at an address lies. Of one that is not there, nothing but the address is known.
Result<DevicePlace> device_in_machine(const MachineWords& words, const std::string& pci_address);

/// Of each core, in hwloc's order, where it lies; of each hardware thread where no cores are known.
Result<std::vector<RankFacts>> cores_in_machine(const MachineWords& words);

} // namespace strata::topo
