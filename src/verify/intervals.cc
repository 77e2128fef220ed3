// SPDX-License-Identifier: BSD-3-Clause
#include "verify/intervals.h"

#include <algorithm>

namespace strata::verify {

using namespace sched;

Intervals::Intervals(std::span<const Program> programs, const Contract& contract) : cuts_{0, whole} {
  const auto add = [&](Range range) {
    if (range.empty()) return;
    cuts_.push_back(range.begin);
    cuts_.push_back(range.end);
  };
  for (const Program& program : programs)
    for (const Step& step : program.steps)
      add(step.range);
  for (Range range : contract.owned)
    add(range);
  std::sort(cuts_.begin(), cuts_.end());
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
}

std::size_t Intervals::index_of(Unit cut) const {
  return static_cast<std::size_t>(std::lower_bound(cuts_.begin(), cuts_.end(), cut) - cuts_.begin());
}

} // namespace strata::verify
