// SPDX-License-Identifier: BSD-3-Clause
// Whether others take turns with the calling thread on its core: other jobs, containers or virtual nodes of one
// machine, which no rank can count, because they are in no communicator, or say that they are another host.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

namespace strata::engine {

/// How often the kernel took the core from the calling thread, which did not sleep, for another one (getrusage(2),
/// ru_nivcsw of RUSAGE_THREAD). 0 where it does not count that.
std::uint64_t involuntary_switches();

/// By what the kernel counts of how long the thread ran, and how long it was ready to run and did not (Linux,
/// Documentation/scheduler/sched-stats.rst, "/proc/<pid>/schedstat"), and of how often others took its core: who gives
/// the core up at once, as a rank that waits does, takes it often and for next to no time. A kernel without the former
/// counts tells of nobody. One thread at a time; of another thread than before, counts begin anew.
class CoreContention {
public:
  /// `counts`: the file with both times, in nanoseconds, of the thread that opens it; `switches`: of the thread that
  /// asks.
  explicit CoreContention(std::string counts = "/proc/thread-self/schedstat",
                          std::uint64_t (*switches)() = involuntary_switches)
      : file_(std::move(counts)), switches_(switches) {}

  /// Called in each step of a wait. Reads the clock now and then, and the counts, which takes some microseconds, after
  /// 5 ms at the earliest; after up to 40 ms where they keep telling the same.
  void step() {
    if (++steps_ % steps_between_clocks == 0) [[unlikely]]
      look_if_due();
  }
  /// Whether others wanted the core, the last time.
  bool found() const { return found_; }

private:
  using Clock = std::chrono::steady_clock;
  struct Counts {
    std::uint64_t ran = 0, waited = 0; ///< nanoseconds
    std::uint64_t switches = 0;
  };
  static constexpr std::uint32_t steps_between_clocks = 16;
  static constexpr std::chrono::milliseconds least_between_looks{5}, most_between_looks{40};

  void look_if_due();
  void look();

  std::string file_;
  std::uint64_t (*switches_)();
  std::uint32_t steps_ = 0;
  bool found_ = false;
  Clock::time_point next_look_{};
  Clock::duration between_looks_ = least_between_looks;
  Counts last_;
  std::thread::id thread_; ///< whose counts the last ones are; nobody's at first
};

} // namespace strata::engine
