// SPDX-License-Identifier: BSD-3-Clause
#include "coll/families.h"

namespace strata::coll {

std::vector<sched::Range> run_of_chunks(const Group& group, const Stage& stage, int first, int chunks) {
  first = (first % group.size() + group.size()) % group.size();
  const int last = first + chunks - 1;
  const sched::Unit begin = part_at(group, stage, first).begin, end = part_at(group, stage, last).end;
  if (last < group.size()) return {{begin, end}};
  return {{begin, stage.range.end}, {stage.range.begin, end}};
}

} // namespace strata::coll
