// SPDX-License-Identifier: BSD-3-Clause
#include "trace/recorder.h"

#include <algorithm>

namespace strata::trace {
namespace {

constexpr double nanosecond = 1e-9;
constexpr std::size_t piece_bytes = std::size_t{64} << 10;

} // namespace

Recorder::Recorder(std::size_t capacity) : capacity_(std::max<std::size_t>(1, capacity)) {
  events_.reserve(capacity_); // untouched until there are events
}

std::uint32_t Recorder::call_name(const std::string& algorithm, std::int32_t ranks) {
  const std::lock_guard lock(mutex_);
  const auto [known, added] =
      call_numbers_.try_emplace({algorithm, ranks}, static_cast<std::uint32_t>(call_names_.size()));
  if (added) call_names_.push_back({algorithm, ranks});
  return known->second;
}

std::uint32_t Recorder::step_names(const sched::Program& program) {
  std::vector<StepName> names;
  std::string all;
  for (std::size_t step = 0; step < program.steps.size(); ++step) {
    names.push_back(step_name(program, static_cast<sched::StepIndex>(step)));
    all += names.back().members + '\n';
  }
  const std::lock_guard lock(mutex_);
  const auto [known, added] = first_steps_.try_emplace(std::move(all), static_cast<std::uint32_t>(step_names_.size()));
  if (added) step_names_.insert(step_names_.end(), names.begin(), names.end());
  return known->second;
}

void Recorder::record(const Event& event) {
  const std::lock_guard lock(mutex_);
  if (events_.size() < capacity_)
    events_.push_back(event);
  else
    events_[recorded_ % capacity_] = event;
  ++recorded_;
}

void Recorder::write(Row row, Clock clock, const std::function<void(std::string_view)>& sink) const {
  std::string text;
  for (std::uint64_t number = dropped(); number < recorded_; ++number) {
    const Event& event = events_[number % capacity_];
    const Span span{static_cast<double>(event.begin - clock.ahead) * nanosecond,
                    static_cast<double>(event.end - clock.ahead) * nanosecond};
    switch (event.kind) {
    case Event::Kind::call:
      add_call(text, row, span, call_names_[event.name], event.call, event.bytes);
      break;
    case Event::Kind::step:
      add_step(text, row, span, step_names_[event.name], event.call, event.slice, event.bytes);
      break;
    case Event::Kind::wait:
      add_wait(text, row, span, event.call);
      break;
    }
    if (text.size() < piece_bytes) continue;
    sink(text);
    text.clear();
  }
  if (!text.empty()) sink(text);
}

void RecordedCall::begin(const std::string& algorithm, std::int32_t ranks, std::uint64_t call, std::size_t bytes) {
  event_.name = recorder_->call_name(algorithm, ranks);
  event_.call = call;
  event_.bytes = static_cast<std::int64_t>(bytes);
  event_.begin = now();
}

void RecordedCall::end() {
  event_.end = now();
  recorder_->record(event_);
}

} // namespace strata::trace
