// SPDX-License-Identifier: BSD-3-Clause
// hwloc's answers without its header, which only hwloc.cc includes.
#pragma once

#include "topo/local_facts.h"

namespace strata::topo {

/// Where a process bound to `cpus` (numbers of the operating system) lies in a machine, and what that machine is. The
/// numbers in `place` are the same for every process on the machine, whatever its control group lets it see.
/// \param synthetic  empty for this machine, or a machine by hwloc's synthetic description, such as
///                   "package:2 numa:1 l3:2 core:4 pu:1".
Result<LocalFacts> place_in_machine(const std::string& synthetic, std::span<const int> cpus);

} // namespace strata::topo
