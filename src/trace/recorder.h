// SPDX-License-Identifier: BSD-3-Clause
// What a process did and when, kept in memory until it is written as a timeline: the last so many events of a ring.
//
// Nothing of this runs in a job that is not traced: who could record holds a null pointer then, and looks at it once
// per call (see Plan::advance_recorded and RecordedCall).
#pragma once

#include "trace/timeline.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace strata::trace {

/// Nanoseconds of a clock that all processes of a node share.
inline std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Event {
  enum class Kind : std::uint8_t { call, step, wait } kind = Kind::call;
  std::uint32_t name = 0; ///< call: as call_name() gave it; step: as step_names() gave it, and the step on top
  std::int64_t begin = 0, end = 0;
  std::uint64_t call = 0; ///< which of its communicator
  std::int64_t slice = 0; ///< of a step, in its call
  std::int64_t bytes = 0;
};

/// How times of this process become those of the timeline.
struct Clock {
  std::int64_t ahead = 0; ///< nanoseconds to take off: how far this clock is ahead, and the beginning of the timeline
};

class Recorder {
public:
  static constexpr std::size_t usual_capacity = std::size_t{1} << 17;
  static_assert(usual_capacity * sizeof(Event) == std::size_t{6} << 20, "strata.7 says 6 MiB");
  explicit Recorder(std::size_t capacity = usual_capacity);

  std::int64_t start() const { return start_; }

  /// The number of a name, the same for the same name.
  std::uint32_t call_name(const std::string& algorithm, std::int32_t ranks);
  /// The number of the first step of a program, the same for programs whose steps have the same texts: a context is
  /// made and freed, or planned anew, and no name is kept twice.
  std::uint32_t step_names(const sched::Program& program);

  void record(const Event& event);

  std::uint64_t recorded() const { return recorded_; }
  /// How many of them were overwritten by later ones.
  std::uint64_t dropped() const { return recorded_ - events_.size(); }

  /// The events as a part of a timeline, the oldest first, in texts of some 64 KiB.
  void write(Row row, Clock clock, const std::function<void(std::string_view)>& sink) const;

private:
  std::mutex mutex_; ///< two threads may be in two communicators
  std::size_t capacity_;
  std::int64_t start_ = now();
  std::uint64_t recorded_ = 0;
  std::vector<Event> events_; ///< ring once it is full
  std::map<std::pair<std::string, std::int32_t>, std::uint32_t> call_numbers_;
  std::vector<CallName> call_names_;
  std::map<std::string, std::uint32_t> first_steps_; ///< of programs, by the texts of all of their steps
  std::vector<StepName> step_names_;
};

/// Records a call from here to the end of its scope; nothing if `recorder` is null.
class RecordedCall {
public:
  RecordedCall(Recorder* recorder, const std::string& algorithm, std::int32_t ranks, std::uint64_t call,
               std::size_t bytes)
      : recorder_(recorder) {
    if (recorder != nullptr) [[unlikely]]
      begin(algorithm, ranks, call, bytes);
  }
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;
  ~RecordedCall() {
    if (recorder_ != nullptr) [[unlikely]]
      end();
  }

private:
  void begin(const std::string& algorithm, std::int32_t ranks, std::uint64_t call, std::size_t bytes);
  void end();

  Recorder* recorder_;
  Event event_;
};

} // namespace strata::trace
