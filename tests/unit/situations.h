// SPDX-License-Identifier: BSD-3-Clause
// Jobs for tests of choices.
#pragma once

#include "tune/choice.h"

#include <vector>

namespace strata::tune {

/// Factors, innermost first, of which the outermost joins nodes.
inline Situation cluster(const std::vector<int>& factors) {
  Situation situation;
  topo::Hierarchy& hierarchy = situation.job.hierarchy;
  for (int factor : factors)
    hierarchy.ranks *= factor;
  int members = 1;
  for (int factor : factors) {
    members *= factor;
    topo::Level level;
    for (std::int32_t rank = 0; rank < hierarchy.ranks; ++rank)
      level.group_of.push_back(rank / members);
    level.groups = hierarchy.ranks / members;
    level.link = level.groups == 1 ? topo::LinkKind::network : topo::LinkKind::shared_memory;
    hierarchy.levels.push_back(std::move(level));
    situation.job.members.push_back(factor);
  }
  situation.job.nodes = factors.back();
  situation.job.ranks_per_node = hierarchy.ranks / factors.back();
  situation.parameters = default_parameters();
  return situation;
}

/// So many ranks in one node.
inline Situation one_node(int ranks) {
  Situation situation = cluster({ranks});
  situation.job.hierarchy.levels.front().link = topo::LinkKind::shared_memory;
  situation.job.nodes = 1;
  situation.job.ranks_per_node = ranks;
  return situation;
}

} // namespace strata::tune
