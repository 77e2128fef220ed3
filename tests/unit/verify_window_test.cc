// SPDX-License-Identifier: BSD-3-Clause
// Schedules as plans run them: several slices in flight, the last of which takes the scratch of the first.
#include "hierarchies.h"
#include "verify/verifier.h"

#include <gtest/gtest.h>

namespace strata::verify {
namespace {

using namespace hierarchies;
using sched::Operand;
using sched::Place;
using sched::Program;
using sched::Step;
using sched::StepIndex;

enum class Reuse {
  when_complete, ///< as the engine does: a slice starts when the one that is a window before it is complete
  at_once
};

/// window + 1 slices of a program in one. The last one works on input and output; those before have memory of their own
/// in their place, which is filled before.
Program unrolled(const Program& one, int window, Reuse reuse) {
  const auto number = [](auto value) { return static_cast<std::uint16_t>(value); };
  const int own_memory = window * one.scratch_regions;
  Program all{one.rank, one.ranks, number(own_memory + 2 * window), {}};
  for (int slice = 0; slice < window; ++slice) {
    Step fill;
    fill.place = sched::scratch(number(own_memory + 2 * slice));
    fill.operands = {sched::from(sched::input)};
    all.steps.push_back(fill);
  }
  const auto of_slice = static_cast<StepIndex>(one.steps.size());
  for (int slice = 0; slice <= window; ++slice) {
    const auto first = static_cast<StepIndex>(all.steps.size());
    const auto moved = [&](Place place) {
      if (place.buffer == sched::Buffer::scratch)
        return sched::scratch(number(place.region + slice % window * one.scratch_regions));
      if (slice == window) return place;
      return sched::scratch(number(own_memory + 2 * slice + (place.buffer == sched::Buffer::output ? 1 : 0)));
    };
    const auto rename = [&](sched::Tag& tag) { tag.level = static_cast<std::uint8_t>(tag.level + 16 * slice); };
    for (Step step : one.steps) {
      step.place = moved(step.place);
      rename(step.tag);
      for (Operand& operand : step.operands)
        if (operand.kind == Operand::Kind::local)
          operand.place = moved(operand.place);
        else
          rename(operand.tag);
      const bool is_root = step.dependencies.empty();
      for (StepIndex& dependency : step.dependencies)
        dependency += first;
      const StepIndex before = window + (slice == window && reuse == Reuse::when_complete ? of_slice : 0);
      for (StepIndex earlier = 0; is_root && earlier < before; ++earlier)
        step.dependencies.push_back(earlier);
      all.steps.push_back(std::move(step));
    }
  }
  return all;
}

std::vector<Program> unrolled(const std::vector<Program>& programs, int window, Reuse reuse) {
  std::vector<Program> all;
  for (const Program& program : programs)
    all.push_back(unrolled(program, window, reuse));
  return all;
}

/// judge(programs of all ranks, window), for many.
template <typename Judge>
void for_schedules(Judge judge) {
  std::mt19937 random(7);
  for (const Machine& machine : {factors({2}), factors({5}), factors({2, 2}), nodes({1, 2, 4}), racks({{1, 2}, {3}})}) {
    const topo::Hierarchy mapped = hierarchy(machine, shuffled(machine, random));
    for (const hier::Composition& composition : some_compositions(mapped.levels.size(), 20, random))
      for (const int window : {1, 2, 3}) {
        SCOPED_TRACE(fmt::format("{}, window {}", describe(mapped, composition), window));
        judge(programs(mapped, composition), window);
      }
  }
}

TEST(VerifierOfWindows, ProvesThatScratchMayBeTakenWhenItsSliceIsComplete) {
  for_schedules([](const std::vector<Program>& schedule, int window) {
    const Status proof = verify(unrolled(schedule, window, Reuse::when_complete), {});
    EXPECT_TRUE(proof) << proof.error().message;
  });
}

TEST(VerifierOfWindows, RefusesScratchThatIsTakenBefore) {
  int with_scratch = 0;
  for_schedules([&](const std::vector<Program>& schedule, int window) {
    if (std::none_of(schedule.begin(), schedule.end(), [](const Program& one) { return one.scratch_regions > 0; }))
      return;
    ++with_scratch;
    EXPECT_FALSE(verify(unrolled(schedule, window, Reuse::at_once), {}));
  });
  EXPECT_GT(with_scratch, 30);
}

} // namespace
} // namespace strata::verify
