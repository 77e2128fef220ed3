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
/// Ways that are all within this of the best after some rounds are not worth more of them.
constexpr double alike = 1.02;
constexpr std::uint32_t rounds_before_alike = 4;
/// Ways that are within this of the best after the last round have a final.
constexpr double close = 1.4;
constexpr double final_run_seconds = 50e-3, most_calls_of_a_final_run = 384;
constexpr std::uint32_t rounds_of_a_final = 3;

} // namespace

Trial::Trial(std::size_t ways, std::size_t bytes, Noise noise)
    : noise_(noise), dropped_(ways), times_(2 * ways, infinite), agreed_(ways, infinite), rounds_of_way_(ways) {
  const bool much = noise != Noise::little;
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
  if (!long_ && agreed_[best] >= long_call_seconds) {
    long_ = true; // what was taken before is not to be compared with what comes
    for (std::vector<double>& rounds : rounds_of_way_)
      rounds.clear();
  }
  const bool alike_already = are_alike(best);
  const bool last = alike_already || (--rounds_ == 0 && !begin_final(best));
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

/// Of those that are left.
bool Trial::are_alike(std::size_t best) const {
  if (noise_ == Noise::little || rounds_of_way_[best].size() < rounds_before_alike) return false;
  for (std::size_t way = 0; way < dropped_.size(); ++way)
    if (!dropped_[way] && agreed_[way] > alike * agreed_[best]) return false;
  return true;
}

/// False where there was one, or need not be one.
bool Trial::begin_final(std::size_t best) {
  if (noise_ != Noise::network || std::exchange(final_, true)) return false;
  std::size_t left = 0;
  for (std::size_t way = 0; way < dropped_.size(); ++way) {
    if (agreed_[way] > close * agreed_[best]) dropped_[way] = true;
    if (!dropped_[way]) ++left;
  }
  if (left < 2) return false;
  for (std::size_t way = 0; way < dropped_.size(); ++way)
    if (!dropped_[way]) rounds_of_way_[way].clear();
  const double calls = std::min(final_run_seconds / std::max(agreed_[best], 1e-9), most_calls_of_a_final_run);
  calls_of_a_run_ = std::max(calls_of_a_run_, uncounted_ + static_cast<std::uint32_t>(std::lround(calls)));
  uncounted_ = std::max(uncounted_, calls_of_a_run_ / 4);
  rounds_ = rounds_of_a_final;
  return true;
}

} // namespace strata::tune
