// SPDX-License-Identifier: BSD-3-Clause
#include "topo/local_facts.h"

#include "base/host.h"
#include "base/module.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::topo {

std::string innermost_switch(const SchedulerPlace& place) {
  constexpr std::size_t longest = 64;
  const std::vector<std::string_view> kinds = split(place.pattern, '.'), names = split(place.address, '.');
  // A node's own name may have dots; those of switches are known by their places before it.
  if (kinds.size() < 2 || names.size() < kinds.size() || kinds.back() != "node") return "";
  if (!std::all_of(kinds.begin(), kinds.end() - 1, [](std::string_view kind) { return kind == "switch"; })) return "";
  const std::string_view name = names[kinds.size() - 2];
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '+';
  };
  if (name.empty() || name.size() > longest || !std::all_of(name.begin(), name.end(), is_allowed)) return "";
  return std::string(name);
}

Result<std::vector<RankFacts>> cores_in_xml(const Options& options, const std::string& xml) {
  const auto entry = open_module_symbol(options, "hwloc", cores_symbol);
  if (!entry) return entry.error();
  std::vector<RankFacts> cores;
  std::string trouble;
  if (!reinterpret_cast<CoresEntry>(*entry)(xml, &cores, &trouble)) return argument_error(std::move(trouble));
  return cores;
}

Result<std::vector<std::string>> networks_near(const Options& options, const std::string& pci_address) {
  const auto entry = open_module_symbol(options, "hwloc", networks_symbol);
  if (!entry) return entry.error();
  std::vector<std::string> names;
  std::string trouble;
  if (!reinterpret_cast<NetworksEntry>(*entry)(pci_address, &names, &trouble))
    return Error{ErrorKind::resource, std::move(trouble)};
  return names;
}

Result<DevicePlace> place_of_device(const Options& options, const std::string& pci_address) {
  const auto entry = open_module_symbol(options, "hwloc", device_place_symbol);
  if (!entry) return entry.error();
  DevicePlace place;
  std::string trouble;
  if (!reinterpret_cast<DevicePlaceEntry>(*entry)(pci_address, &place, &trouble))
    return Error{ErrorKind::resource, std::move(trouble)};
  return place;
}

LocalFacts local_facts(const Options& options) {
  LocalFacts facts;
  if (const auto entry = open_module_symbol(options, "hwloc", topology_symbol); !entry)
    facts.trouble = entry.error().message;
  else
    reinterpret_cast<TopologyEntry> (*entry)(&facts);
  facts.cores = core_share();
  facts.network_switch = innermost_switch(scheduler_place());
  const std::uint32_t usable = cores_together({&facts.cores, 1});
  if (facts.machine.empty()) facts.machine = fmt::format("{} usable core{}", usable, usable == 1 ? "" : "s");
  return facts;
}

} // namespace strata::topo
