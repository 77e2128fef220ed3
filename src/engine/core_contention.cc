// SPDX-License-Identifier: BSD-3-Clause
#include "engine/core_contention.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace strata::engine {
namespace {

// Of the time in which the thread was ready. Alone, it waits for interrupts and daemons, far less than 5%; of two
// threads that take turns each waits for half of it. In between, what was found last stands.
constexpr double least_of_contention = 0.2, most_when_alone = 0.05;
// A thread that spins beside one that waits and yields loses the core a few times in each of the other's calls, or once
// in a slice of the scheduler's of some milliseconds. Alone, 60 to 80 times a second were counted beside a busy
// network.
constexpr double switches_per_second_of_contention = 200;
constexpr std::uint64_t least_to_judge = 1'000'000; // nanoseconds

/// The number at the beginning of [text, end), after blanks; `text` is moved behind it. False if there is none.
bool take_number(const char*& text, const char* end, std::uint64_t& number) {
  text = std::find_if(text, end, [](char letter) { return letter != ' '; });
  const auto parsed = std::from_chars(text, end, number);
  text = parsed.ptr;
  return parsed.ec == std::errc();
}

} // namespace

std::uint64_t involuntary_switches() {
  rusage usage{};
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_nivcsw) : 0;
}

void CoreContention::look_if_due() {
  const Clock::time_point now = Clock::now();
  if (now < next_look_) return;
  const bool before = found_;
  look();
  between_looks_ = found_ == before ? std::min<Clock::duration>(2 * between_looks_, most_between_looks)
                                    : Clock::duration(least_between_looks);
  next_look_ = now + between_looks_;
}

void CoreContention::look() {
  const int file = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[64]; // two numbers of at most 20 digits
  const ssize_t length = ::read(file, text, sizeof text);
  ::close(file);
  Counts now;
  const char *place = text, *end = text + std::max<ssize_t>(0, length);
  if (!take_number(place, end, now.ran) || !take_number(place, end, now.waited)) return;
  now.switches = switches_();
  const Counts before = std::exchange(last_, now);
  if (std::exchange(thread_, std::this_thread::get_id()) != std::this_thread::get_id()) return;
  if (now.ran < before.ran || now.waited < before.waited || now.switches < before.switches)
    return; // a new thread may be called as one that has ended
  const std::uint64_t ran = now.ran - before.ran, waited = now.waited - before.waited;
  if (ran + waited < least_to_judge) return;
  const auto ready = static_cast<double>(ran + waited);
  const double part = static_cast<double>(waited) / ready;
  const double switches_per_second = static_cast<double>(now.switches - before.switches) / (ready * 1e-9);
  found_ = part >= (found_ ? most_when_alone : least_of_contention) ||
           switches_per_second >= switches_per_second_of_contention;
}

} // namespace strata::engine
