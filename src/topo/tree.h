// SPDX-License-Identifier: BSD-3-Clause
// A hierarchy as a tree of groups, which is what a person wants to see of it.
#pragma once

#include "topo/hierarchy.h"

namespace strata::topo {

/// A group in the drawing. A group that holds nothing but one group of the level below stands for both.
struct Branch {
  std::size_t level = 0;
  std::int32_t group = 0;
  std::vector<std::int32_t> ranks; ///< ascending
  std::vector<Branch> branches;    ///< of smaller groups; none: the ranks stand by themselves
  std::string remark;
  std::string label;           ///< of all ranks, if they have the same and no larger group says so
  bool ranks_labelled = false; ///< the ranks' labels differ and no branch shows them
};

/// The outermost group with all that is in it. `hierarchy` must have a level and satisfy check().
Branch tree_of(const Hierarchy& hierarchy, std::span<const std::string> labels, const Remarks& remarks = {});

/// "node 0 (shared memory): ranks 0-3 [n1]"
std::string title_of(const Hierarchy& hierarchy, const Branch& branch);

} // namespace strata::topo
