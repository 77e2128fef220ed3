// SPDX-License-Identifier: BSD-3-Clause
// Elementary intervals: the slice cut wherever any range of a schedule begins or ends, so that a step covers each of
// them wholly or not at all.
#pragma once

#include "verify/verifier.h"

namespace strata::verify {

class Intervals {
public:
  Intervals(std::span<const sched::Program> programs, const Contract& contract);

  std::size_t size() const { return cuts_.size() - 1; }
  sched::Range range(std::size_t interval) const { return {cuts_[interval], cuts_[interval + 1]}; }

  /// Consecutive intervals, to loop over. (clang 14 cannot compile libstdc++'s views::iota.)
  struct Sequence {
    struct Iterator {
      std::size_t interval;
      std::size_t operator*() const { return interval; }
      Iterator& operator++() { return ++interval, *this; }
      bool operator==(const Iterator&) const = default;
    };
    Iterator begin() const { return {first}; }
    Iterator end() const { return {last}; }
    std::size_t first, last;
  };

  /// The intervals of a range of the schedule; none if it is empty.
  Sequence of(sched::Range range) const {
    const std::size_t first = index_of(range.begin);
    return {first, range.empty() ? first : index_of(range.end)};
  }

private:
  std::size_t index_of(sched::Unit cut) const;

  std::vector<sched::Unit> cuts_; // ascending, from 0 to whole
};

} // namespace strata::verify
