// SPDX-License-Identifier: BSD-3-Clause
#include "tune/look.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace strata::tune {
namespace {

/// As many short calls as a round of a trial counts, so that one that was disturbed does not decide.
constexpr std::size_t fewer_calls_from = std::size_t{64} << 10;
constexpr std::uint32_t fewest_calls = 16, fewest_longer_calls = 4;
/// The clock is read twice for each, and a program may not make many.
constexpr double seconds_of_a_part = 10e-3, most_calls_of_a_looks_part = 4096;

} // namespace

Look::Look(double seconds, std::size_t bytes, Noise noise)
    : calls_of_a_part_(bytes < fewer_calls_from ? fewest_calls : fewest_longer_calls), parts_(1) {
  seconds_.fill(std::numeric_limits<double>::infinity());
  if (noise == Noise::little || seconds >= long_call_seconds) return;
  parts_ = most_parts;
  const double calls = std::min(seconds_of_a_part / std::max(seconds, 1e-9), most_calls_of_a_looks_part);
  calls_of_a_part_ = std::max(calls_of_a_part_, static_cast<std::uint32_t>(std::lround(calls)));
}

bool Look::add(double seconds) {
  sum_ += seconds;
  if (++call_ < calls_of_a_part_) return false;
  seconds_[part_++] = std::exchange(sum_, 0) / std::exchange(call_, 0);
  return part_ == parts_;
}

double Look::seconds() const {
  std::array<double, most_parts> ascending = seconds_;
  std::sort(ascending.begin(), ascending.end());
  return mean_of_faster({ascending.data(), part_});
}

} // namespace strata::tune
