// SPDX-License-Identifier: BSD-3-Clause
// Hierarchies that are regular, told by a few numbers instead of lists over all ranks.
//
// Every group of a level has as many members as the others, and the ranks are dealt out to the places in loops, as
// launchers do it by slot or by node. Then a rank's place at level l is a digit of its number:
//
//     place at l = rank / stride[l] mod members[l]
//
// Ranks 0 to 11 on 3 nodes of 4 cores: by slot the cores have stride 1 and the nodes stride 4; by node, 3 and 1. The
// members of a rank's group at level l, one for each group of level l - 1 in it, are `stride` apart. So a rank knows
// whom it works with in O(its own partners), in a job of any size.
#pragma once

#include "topo/hierarchy.h"

#include <optional>
#include <string>
#include <vector>

namespace strata::topo {

struct RegularLevel {
  std::string name;
  LinkKind link = LinkKind::network;
  std::int32_t members = 1;
  std::int32_t stride = 1;
};

/// Levels from the innermost outwards; the product of their members is the number of ranks.
struct Regular {
  std::int32_t ranks = 1;
  std::vector<RegularLevel> levels;

  /// Of this rank among the members of its group at a level.
  std::int32_t place(std::int32_t rank, std::size_t level) const {
    return rank / levels[level].stride % levels[level].members;
  }
  /// The members that hold the same places at all other levels, in the order of their places.
  std::vector<std::int32_t> group(std::int32_t rank, std::size_t level) const;
};

/// The hierarchy in this form, if it is regular.
std::optional<Regular> regular_from(const Hierarchy& hierarchy);

/// Its levels with their names, links and numbers of groups, but no lists of ranks: what choosing needs.
Hierarchy outline_of(const Regular& regular);

} // namespace strata::topo
