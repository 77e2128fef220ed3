// SPDX-License-Identifier: BSD-3-Clause
#include "tune/link_numbers.h"

#include <algorithm>

namespace strata::tune {
namespace {

/// Takes the numbers of the groups of `known` over to those of the level. A host is looked for once per group.
void take_groups(LevelNumbers& numbers, const HostLevel& known, const topo::Level& level,
                 std::span<const std::string> host_of_rank) {
  std::vector<bool> seen(numbers.groups.size(), false);
  for (std::size_t rank = 0; rank < level.group_of.size(); ++rank) {
    const auto group = static_cast<std::size_t>(level.group_of[rank]);
    if (seen[group]) continue;
    seen[group] = true;
    for (const HostGroup& hosts : known.groups)
      if (std::binary_search(hosts.hosts.begin(), hosts.hosts.end(), host_of_rank[rank]))
        numbers.groups[group] = {hosts.name, hosts.uplink};
  }
}

} // namespace

std::vector<LevelNumbers> numbers_of(const Profile& profile, const topo::Hierarchy& hierarchy,
                                     std::span<const std::string> host_of_rank) {
  std::vector<LevelNumbers> all;
  double latency = profile.latency, bandwidth = profile.bandwidth; // of what leaves the level before
  for (const topo::Level& level : hierarchy.levels) {
    LevelNumbers numbers;
    numbers.groups.resize(static_cast<std::size_t>(level.groups));
    if (topo::between_nodes(level.link)) {
      numbers.latency = latency;
      numbers.bandwidth = bandwidth;
    }
    for (const HostLevel& known : profile.levels) {
      if (known.name != level.name) continue;
      take_groups(numbers, known, level, host_of_rank);
      for (const HostGroup& group : known.groups) {
        latency = std::max(latency, group.latency);
        if (group.bandwidth > 0) bandwidth = std::min(bandwidth, group.bandwidth);
      }
    }
    all.push_back(std::move(numbers));
  }
  return all;
}

} // namespace strata::tune
