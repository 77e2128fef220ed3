// SPDX-License-Identifier: BSD-3-Clause
#include "tune/trial.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace strata::tune {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
/// A way that takes this much longer than the best after a round is not tried again. One round may have been
/// disturbed.
constexpr double far_behind_at_first = 2, far_behind = 1.2;

} // namespace

Trial::Trial(std::size_t ways, std::size_t bytes) : dropped_(ways), times_(ways, infinite), agreed_(ways, infinite) {
  if (bytes < std::size_t{64} << 10)
    calls_of_a_run_ = 24, uncounted_ = 8, rounds_ = 4;
  else if (bytes < std::size_t{1} << 20)
    calls_of_a_run_ = 8, uncounted_ = 2, rounds_ = 3;
  else if (bytes < std::size_t{8} << 20)
    calls_of_a_run_ = 3, uncounted_ = 1, rounds_ = 2;
  else
    calls_of_a_run_ = 2, uncounted_ = 1, rounds_ = 2;
}

bool Trial::add(double seconds) {
  if (call_ >= uncounted_) sum_ += seconds;
  if (++call_ < calls_of_a_run_) return false;
  times_[way_] = std::min(times_[way_], sum_ / (calls_of_a_run_ - uncounted_));
  call_ = 0;
  sum_ = 0;
  return !next_way();
}

/// False when there is none left in this round.
bool Trial::next_way() {
  for (++way_; way_ < dropped_.size(); ++way_)
    if (!dropped_[way_]) return true;
  way_ = 0;
  return false;
}

bool Trial::settle(std::span<const double> of_all_ranks) {
  const std::size_t ways = times_.size();
  for (std::size_t i = 0; i < of_all_ranks.size(); ++i)
    agreed_[i % ways] = std::min(agreed_[i % ways], of_all_ranks[i]);
  const auto best = static_cast<std::size_t>(std::min_element(agreed_.begin(), agreed_.end()) - agreed_.begin());
  const bool last = --rounds_ == 0;
  const double limit = agreed_[best] * (std::exchange(first_, false) ? far_behind_at_first : far_behind);
  std::size_t left = 0;
  for (std::size_t way = 0; way < ways; ++way) {
    if (way != best && (last || agreed_[way] > limit)) dropped_[way] = true;
    if (dropped_[way])
      times_[way] = infinite;
    else
      ++left;
  }
  way_ = best;
  if (left == 1) return true;
  way_ = 0;
  while (dropped_[way_])
    ++way_;
  return false;
}

} // namespace strata::tune
