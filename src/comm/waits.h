// SPDX-License-Identifier: BSD-3-Clause
// What the processes of this node that run with strata wait for, read from their segments: they need not do anything
// for it, and may hang.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strata::comm {

struct ProcessWait {
  std::int32_t pid = 0;
  std::string program;         ///< as the process file system names it
  std::int32_t world_rank = 0; ///< among `world_ranks` of its job
  std::int32_t world_ranks = 0;
  bool waits = false;
  std::string text; ///< see describe() in base/activity.h
};

/// Of the processes that this user may look into, by job (as far as it can be told) and rank.
std::vector<ProcessWait> waits_on_this_node();

} // namespace strata::comm
