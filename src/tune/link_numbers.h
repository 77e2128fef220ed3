// SPDX-License-Identifier: BSD-3-Clause
// The numbers of a profile at the groups of a hierarchy, for people who look at its tree.
#pragma once

#include "topo/hierarchy.h"
#include "tune/profile.h"

#include <span>
#include <string>
#include <vector>

namespace strata::tune {

struct GroupNumbers {
  std::string name;  ///< as the profile has it; empty: it does not know the group
  double uplink = 0; ///< bytes per second out of the group; 0: it was not seen to be shared
};

/// Of the links between the members of a level's groups. 0: not measured, or no link between nodes.
struct LevelNumbers {
  double latency = 0;   ///< seconds
  double bandwidth = 0; ///< bytes per second of one node
  std::vector<GroupNumbers> groups;
};

/// By level. A level is known by its name, and a group by the host of its lowest rank.
std::vector<LevelNumbers> numbers_of(const Profile& profile, const topo::Hierarchy& hierarchy,
                                     std::span<const std::string> host_of_rank);

} // namespace strata::tune
