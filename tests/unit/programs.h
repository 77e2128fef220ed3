// SPDX-License-Identifier: BSD-3-Clause
// The programs that a form of an algorithm generates for each member of a group that is all there is.
#pragma once

#include "coll/algorithm.h"

#include <numeric>

namespace strata::coll {

inline std::vector<sched::Program> programs_of(const Form& form, int members, const Stage& stage = {}) {
  Group group;
  group.ranks.resize(static_cast<std::size_t>(members));
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  std::vector<sched::Program> programs;
  for (group.self = 0; group.self < members; ++group.self) {
    sched::ProgramBuilder builder(group.self, members);
    form.generate(builder, group, stage);
    programs.push_back(std::move(builder).finish());
  }
  return programs;
}

} // namespace strata::coll
