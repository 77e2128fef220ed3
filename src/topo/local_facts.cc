// SPDX-License-Identifier: BSD-3-Clause
#include "topo/local_facts.h"

#include "base/host.h"
#include "base/module.h"

#include <fmt/format.h>

namespace strata::topo {

LocalFacts local_facts(const Options& options) {
  LocalFacts facts;
  if (const auto entry = open_module_symbol(options, "hwloc", topology_symbol); !entry)
    facts.trouble = entry.error().message;
  else
    reinterpret_cast<TopologyEntry> (*entry)(&facts);
  facts.usable_cores = usable_cores();
  if (facts.machine.empty())
    facts.machine = fmt::format("{} usable core{}", facts.usable_cores, facts.usable_cores == 1 ? "" : "s");
  return facts;
}

} // namespace strata::topo
