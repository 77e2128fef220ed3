// SPDX-License-Identifier: BSD-3-Clause
#include "tune/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace strata::tune {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
/// A way whose best round takes this much longer than the best way is not tried again. One round may have been
/// disturbed, or that of the best way lucky.
constexpr double far_behind_at_first = 4, far_behind = 1.25;
/// With more ranks than cores, runs that are shorter than a few of the scheduler's slices measure who had the core.
constexpr double run_seconds = 8e-3;
constexpr double most_calls_of_a_run = 96;

} // namespace

Trial::Trial(std::size_t ways, std::size_t bytes, Noise noise)
    : noise_(noise), dropped_(ways), times_(2 * ways, infinite), agreed_(ways, infinite), rounds_of_way_(ways) {
  const bool much = noise == Noise::much;
  if (bytes < std::size_t{64} << 10)
    calls_of_a_run_ = 24, uncounted_ = 8, rounds_ = much ? 7 : 3;
  else if (bytes < std::size_t{1} << 20)
    calls_of_a_run_ = 8, uncounted_ = 2, rounds_ = much ? 7 : 3;
  else if (bytes < std::size_t{8} << 20)
    calls_of_a_run_ = 3, uncounted_ = 1, rounds_ = much ? 5 : 3;
  else
    calls_of_a_run_ = 2, uncounted_ = 1, rounds_ = 3;
  for (std::vector<double>& rounds : rounds_of_way_)
    rounds.reserve(rounds_); // a call takes no memory
}

bool Trial::add(double seconds) {
  if (call_ >= uncounted_) sum_ += seconds;
  if (++call_ < calls_of_a_run_) return false;
  std::vector<double>& rounds = rounds_of_way_[way_];
  const double mean = sum_ / (calls_of_a_run_ - uncounted_);
  rounds.insert(std::upper_bound(rounds.begin(), rounds.end(), mean), mean);
  times_[way_] = rounds[rounds.size() / 2];
  times_[dropped_.size() + way_] = rounds.front();
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
  const std::size_t ways = dropped_.size();
  std::vector<double> least(times_.size(), infinite); // over the ranks
  for (std::size_t i = 0; i < of_all_ranks.size(); ++i)
    least[i % least.size()] = std::min(least[i % least.size()], of_all_ranks[i]);
  agreed_.assign(least.begin(), least.begin() + static_cast<std::ptrdiff_t>(ways));
  std::size_t best = ways;
  for (std::size_t way = 0; way < ways; ++way)
    if (!dropped_[way] && (best == ways || agreed_[way] < agreed_[best])) best = way;
  const double calls =
      noise_ == Noise::little ? 0 : std::min(run_seconds / std::max(agreed_[best], 1e-9), most_calls_of_a_run);
  calls_of_a_run_ = std::max(calls_of_a_run_, uncounted_ + static_cast<std::uint32_t>(std::lround(calls)));
  const bool last = --rounds_ == 0;
  const double limit = agreed_[best] * (std::exchange(first_, false) ? far_behind_at_first : far_behind);
  std::size_t left = 0;
  for (std::size_t way = 0; way < ways; ++way) {
    if (way != best && (last || least[ways + way] > limit)) dropped_[way] = true;
    if (!dropped_[way]) ++left;
  }
  way_ = best;
  if (left == 1) return true;
  way_ = 0;
  while (dropped_[way_])
    ++way_;
  return false;
}

} // namespace strata::tune
