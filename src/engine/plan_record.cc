// SPDX-License-Identifier: BSD-3-Clause
// Running a Plan in a job that is traced.
//
// A step is tried again and again until it can run, and only the try that did the work is shown: of a send the one that
// put its last message on the way, which may be complete later; of the others the one that ended them. So the slices of
// a rank do not overlap, there is one for each step that moves bytes, and they mean what the simulator's mean: what
// kept the core busy.
#include "engine/plan.h"

namespace strata::engine {

bool Plan::attempt_recorded(const BoundStep& step, std::uint32_t index, Slice& slice) {
  const std::uint32_t reached = slice.reached[index];
  const std::int64_t begin = trace::now();
  const bool complete = attempt(step, index, slice);
  const auto ports = static_cast<std::uint32_t>(step.ports.size());
  const bool worked = step.kind == sched::Kind::send ? reached < ports && slice.reached[index] == ports : complete;
  const auto [first, last] = slice.geometry->ranges[index];
  if (!worked || first == last) return complete;
  const Request& request = *slice.request;
  record_wait(begin, request.call);
  step_was_recorded_ = true;
  shape_.recorder->record({trace::Event::Kind::step, first_step_name_ + index, begin, trace::now(), request.call,
                           slice.place, (last - first) * static_cast<std::int64_t>(request.reducer.element_bytes)});
  return complete;
}

void Plan::record_wait(std::int64_t end, std::uint64_t call) {
  if (idle_since_ != 0) shape_.recorder->record({trace::Event::Kind::wait, 0, idle_since_, end, call, 0, 0});
  idle_since_ = 0;
}

bool Plan::advance_recorded() {
  const std::int64_t begin = trace::now();
  const std::uint64_t call = requests_.empty() ? 0 : requests_.front()->call;
  step_was_recorded_ = false;
  const bool moved = advance_as<Steps::recorded>();
  if (!step_was_recorded_ && idle_since_ == 0) idle_since_ = begin;
  if (requests_.empty()) record_wait(trace::now(), call);
  return moved;
}

} // namespace strata::engine
