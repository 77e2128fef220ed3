// SPDX-License-Identifier: BSD-3-Clause
// Builds a rank's program step by step and derives the dependencies.
//
// An algorithm appends its steps in an order in which they would be right one after the other; the builder finds
// which earlier steps each must really wait for: those that wrote what it reads, and those that read or wrote what
// it overwrites. Input and Output count as one memory here, because a call may be in place. Steps on disjoint ranges
// stay independent, so the engine may overlap them.
#pragma once

#include "sched/schedule.h"

#include <initializer_list>
#include <map>

namespace strata::sched {

class ProgramBuilder {
public:
  ProgramBuilder(int rank, int ranks);

  int rank() const { return program_.rank; }

  /// Appends a send of `place` at `range` to `peers` (none: nothing is appended and -1 returned).
  StepIndex send(Range range, Place place, std::vector<std::int32_t> peers, Tag tag);
  StepIndex recv(Range range, Place place, int peer, Tag tag);
  /// `account` gives the level and phase that the step is counted under.
  StepIndex reduce(Range range, Place place, std::vector<Operand> operands, Tag account);
  StepIndex copy(Range range, Place place, Place source, Tag account);

  /// A scratch region that no earlier call returned.
  std::uint16_t new_scratch_region() { return program_.scratch_regions++; }

  Program finish() && { return std::move(program_); }

private:
  /// What has touched one piece of a buffer since its last write.
  struct History {
    StepIndex writer = -1;
    std::vector<StepIndex> readers;
  };
  using Timeline = std::map<Unit, History>; // key: begin of a piece that reaches to the next key

  StepIndex append(Step step);
  Timeline& timeline(Place place);
  static void split(Timeline& timeline, Unit at);
  void note_read(Place place, Range range, Step& step, StepIndex index);
  void note_write(Place place, Range range, Step& step, StepIndex index);

  Program program_;
  std::map<int, Timeline> timelines_; // 0: input and output; 1 + region: scratch
};

} // namespace strata::sched
