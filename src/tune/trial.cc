// SPDX-License-Identifier: BSD-3-Clause
#include "tune/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace strata::tune {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
/// A way whose best round takes this much longer than the best way is not tried again. One round may have been
/// disturbed, or that of the best way lucky.
constexpr double far_behind_at_first = 4, far_behind = 1.25;
/// What one disturbance of a round may take: an interrupt; where others use the cores or the network, some of the
/// scheduler's slices.
constexpr double least_disturbance_seconds = 200e-6, disturbance_seconds = 10e-3;
/// With more ranks than cores, runs that are shorter than a few of the scheduler's slices measure who had the core.
/// With a core each, those of 16 calls of 0.15 us were measured as 0.11 to 0.24 us.
constexpr double run_seconds = 8e-3, run_seconds_with_little_noise = 50e-6;
constexpr double most_calls_of_a_run = 96;
/// Ways that are all within this of the best after some rounds are not worth more of them.
constexpr double alike = 1.02;
constexpr std::uint32_t rounds_before_alike = 4;
/// Ways that are within this of the best after the last round have a final.
constexpr double close = 1.4;
constexpr std::uint32_t rounds_of_a_final = 7, rounds_of_a_final_that_varies_little = 3;
/// From this many bytes on a way goes through so much memory that the caches' state decides over what it takes. Then
/// one that takes so many times what the best does may yet be the fastest, once the caches are its own.
constexpr std::size_t fills_caches_from = std::size_t{1} << 10;
constexpr double close_for_caches = 2;
/// Of the runs of a final: 1 ms is long enough to go around the longest ring of a board between two caches.
struct FinalRun {
  double seconds, most_calls;
  std::uint32_t part_not_counted; ///< one of so many
};
constexpr FinalRun final_run = {50e-3, 384, 4}, final_run_with_little_noise = {2e-3, 4096, 2};
/// In a final, a way whose best of so many rounds takes this much longer than the best way is not tried again.
constexpr std::size_t rounds_before_behind = 3;
constexpr double behind_in_final = 1.1;

/// A row has so many parts, of which the later half counts, and a short one before them, which tells how long they are.
constexpr double row_seconds = 0.5, part_seconds = row_seconds / 8, first_part_seconds = part_seconds / 16;
constexpr std::uint32_t parts_of_a_row = 8;
/// A row of fewer calls is not worth it.
constexpr double fewest_calls_of_a_row = 16, most_calls_of_a_part = 4096;
/// A way whose calls take this much longer in a row than in its runs counts by the row.
constexpr double same_in_a_row = 1.03;
/// Of one way: a second one, because the first may have been disturbed.
constexpr std::uint8_t most_rows_of_a_way = 2;

/// How the ways have their turns, for calls of fewer bytes than `below`.
struct Pace {
  std::size_t below;
  std::uint32_t glance, uncounted_of_glance; ///< calls of a run of the first round
  std::uint32_t run, uncounted;              ///< of the others
  std::uint32_t rounds, rounds_with_noise;
};
constexpr std::size_t KiB = 1024, MiB = KiB * KiB;
constexpr Pace paces[] = {{64 * KiB, 6, 2, 24, 8, 3, 7},
                          {MiB, 3, 1, 8, 2, 3, 7},
                          {8 * MiB, 2, 1, 3, 1, 3, 5},
                          {std::numeric_limits<std::size_t>::max(), 2, 1, 2, 1, 3, 3}};

/// Calls that take long have their turns as those of so many bytes, which take as long elsewhere.
std::size_t bytes_as_long(double seconds) { return seconds >= 50e-3 ? 8 * MiB : seconds >= 5e-3 ? MiB : 0; }

const Pace& pace_of(std::size_t bytes) {
  return *std::find_if(std::begin(paces), std::end(paces) - 1, [&](const Pace& pace) { return bytes < pace.below; });
}

/// From here on a call over a network may be a long one, so the glance takes it for one.
constexpr std::size_t may_be_long_from = 64 * KiB;

} // namespace

double mean_of_faster(std::span<const double> ascending) {
  const std::span<const double> counted = ascending.first(ascending.size() / 2 + 1);
  return std::accumulate(counted.begin(), counted.end(), 0.0) / static_cast<double>(counted.size());
}

Trial::Trial(std::size_t ways, std::size_t bytes, Noise noise, double share)
    : noise_(noise), bytes_(bytes), price_((1 - share) / share), uncounted_(pace_of(bytes).uncounted_of_glance),
      rounds_(0), long_(noise == Noise::network && bytes >= may_be_long_from), runs_(ways, pace_of(bytes).glance),
      dropped_(ways), times_(2 * ways, infinite), agreed_(ways, infinite), quickest_(ways, infinite),
      rounds_of_way_(ways), rows_had_(ways), in_runs_(ways, infinite) {
  rounds_ = rounds_with_glance();
  for (std::vector<double>& rounds : rounds_of_way_)
    rounds.reserve(std::max(rounds_, rounds_of_a_final)); // a call takes no memory
  parts_.reserve(parts_of_a_row);
}

std::uint32_t Trial::rounds_with_glance() const {
  const Pace& pace = pace_of(bytes_);
  return 1 + (noise_ == Noise::little ? pace.rounds : pace.rounds_with_noise);
}

void Trial::rest_first(std::size_t way, double seconds) {
  agreed_[way] = seconds;
  begin_rest(way, static_cast<double>(runs_.size() - 1) * runs_.front() * seconds);
}

void Trial::forget_rounds() {
  for (std::vector<double>& rounds : rounds_of_way_)
    rounds.clear();
}

bool Trial::add(double seconds) {
  if (row_ || call_ >= uncounted_) sum_ += seconds;
  if (++call_ < runs_[way_]) return false;
  if (row_) {
    times_[way_] = std::exchange(sum_, 0) / std::exchange(call_, 0);
    return true;
  }
  std::vector<double>& rounds = rounds_of_way_[way_];
  const double mean = sum_ / (runs_[way_] - uncounted_);
  rounds.insert(std::upper_bound(rounds.begin(), rounds.end(), mean), mean);
  times_[way_] = final_ ? mean_of_faster(rounds) : rounds[rounds.size() / 2];
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
  const auto middle = least.begin() + static_cast<std::ptrdiff_t>(ways);
  agreed_.assign(least.begin(), middle);
  quickest_.assign(middle, least.end());
  if (row_) return settle_part();
  const std::size_t best = best_of_those_left();
  const bool are_long = agreed_[best] >= long_call_seconds;
  if (first_ && are_long != long_ && !again_) {
    again_ = true;
    long_ = are_long;
    forget_rounds();
    return false;
  }
  note_cost(best);
  const double counted = runs_[best] - uncounted_;
  const bool was_first = std::exchange(first_, false);
  if (was_first) {
    bytes_ = std::max(bytes_, bytes_as_long(agreed_[best]));
    uncounted_ = pace_of(bytes_).uncounted;
    rounds_ = std::min(rounds_, rounds_with_glance());
  }
  if (!final_) set_runs();
  if (are_long != long_ && (are_long || was_first)) {
    long_ = are_long; // what was taken before is not to be compared with what comes
    forget_rounds();
    if (final_) rounds_ = std::min(rounds_, 1 + rounds_of_a_final_that_varies_little); // and this one
  }
  const bool alike_already = are_alike(best);
  const bool last = alike_already || (--rounds_ == 0 && !begin_final(best));
  const double limit = limit_of(best, counted);
  std::size_t left = 0;
  double expected = 0;
  for (std::size_t way = 0; way < ways; ++way) {
    if (way != best && (last || quickest_[way] > limit)) dropped_[way] = true;
    if (dropped_[way]) continue;
    ++left;
    expected += runs_[way] * behind(way, best);
  }
  way_ = best;
  if (left == 1) return !is_worth_a_row(best) || begin_row_or_end();
  way_ = 0;
  while (dropped_[way_])
    ++way_;
  begin_rest(best, expected);
  return false;
}

std::size_t Trial::best_of_those_left() const {
  std::size_t best = dropped_.size();
  for (std::size_t way = 0; way < dropped_.size(); ++way)
    if (!dropped_[way] && (best == dropped_.size() || agreed_[way] < agreed_[best])) best = way;
  return best;
}

/// Those that were dropped among them.
std::size_t Trial::best_of_all() const {
  return static_cast<std::size_t>(std::min_element(agreed_.begin(), agreed_.end()) - agreed_.begin());
}

/// Of the ways that have had a row; as many as there are, where none has.
std::size_t Trial::best_in_a_row() const {
  std::size_t best = agreed_.size();
  for (std::size_t way = 0; way < agreed_.size(); ++way)
    if (rows_had_[way] > 0 && (best == agreed_.size() || agreed_[way] < agreed_[best])) best = way;
  return best;
}

/// Not where nothing can come of it: where no other way is near, and none has been slower in a row than in its runs.
bool Trial::is_worth_a_row(std::size_t way) const {
  if (noise_ != Noise::network || price_ <= 0 || agreed_[way] * fewest_calls_of_a_row > row_seconds) return false;
  const double limit = far_behind_at_first * agreed_[way];
  for (std::size_t other = 0; other < agreed_.size(); ++other)
    if (other != way && (rows_had_[other] > 0 || agreed_[other] < limit)) return true;
  return false;
}

/// The way that is to have a row: the best one, if it had none; or one that would have won, and was not far behind in
/// its only one. As many as there are ways, where none is to.
std::size_t Trial::next_row() const {
  const std::size_t none = agreed_.size();
  const std::size_t best = best_of_all();
  if (rows_had_[best] == 0) return is_worth_a_row(best) ? best : none;
  for (std::size_t way = 0; way < agreed_.size(); ++way)
    if (way != best && rows_had_[way] > 0 && rows_had_[way] < most_rows_of_a_way && in_runs_[way] < agreed_[best] &&
        agreed_[way] <= far_behind * agreed_[best])
      return way;
  return none;
}

/// True when the trial is over. A row of a way that is not known to be the best is paid for as turns are, but
/// afterwards: how much longer it takes was not known before.
bool Trial::begin_row_or_end() {
  const std::size_t next = next_row(), ahead = best_in_a_row();
  if (next == agreed_.size()) {
    way_ = best_of_all();
    return true;
  }
  if (ahead == agreed_.size())
    ahead_ = next;
  else
    begin_rest(ahead, 0);
  row_ = first_part_ = true;
  way_ = next;
  before_row_ = agreed_[next];
  if (rows_had_[next]++ == 0) in_runs_[next] = before_row_;
  parts_.clear();
  begin_part(before_row_, first_part_seconds);
  return false;
}

void Trial::begin_part(double seconds_of_a_call, double seconds_of_the_part) {
  const double calls = std::min(seconds_of_the_part / std::max(seconds_of_a_call, 1e-9), most_calls_of_a_part);
  runs_[way_] = std::max(2U, static_cast<std::uint32_t>(calls));
  times_[way_] = agreed_[way_] = before_row_; // until the row is over
}

/// True when the trial is over.
bool Trial::settle_part() {
  const double part = std::exchange(agreed_[way_], infinite);
  const std::size_t other = best_in_a_row();
  const bool is_rival = agreed_[other] < infinite;
  const double known = is_rival ? agreed_[other] : in_runs_[way_];
  const bool was_first = std::exchange(first_part_, false);
  if (is_rival) debt_ += runs_[way_] * std::max(0.0, part - known);
  if (!was_first) parts_.push_back(part);
  if (part > (was_first || !is_rival ? far_behind_at_first : far_behind) * known) return end_row(part);
  if (parts_.size() < parts_of_a_row) {
    begin_part(part, part_seconds);
    return false;
  }
  const auto later = parts_.begin() + parts_of_a_row / 2;
  std::sort(later, parts_.end());
  return end_row(later[(parts_of_a_row / 2 - 1) / 2]); // of an even number the faster: disturbances only add
}

/// True when the trial is over.
bool Trial::end_row(double seconds_of_a_call) {
  const double in_runs = in_runs_[way_];
  double counts = seconds_of_a_call;
  if (counts <= same_in_a_row * in_runs) counts = std::min(counts, in_runs);
  if (rows_had_[way_] > 1) counts = std::min(counts, before_row_);
  times_[way_] = agreed_[way_] = counts; // on all ranks, for what is compared after this
  row_ = false;
  return begin_row_or_end();
}

/// Beyond which a way's best round is too far behind the best way, which has counted so many calls in its last run.
double Trial::limit_of(std::size_t best, double counted) const {
  const std::size_t rounds = rounds_of_way_[best].size();
  if (final_ && rounds >= rounds_before_behind) return behind_in_final * agreed_[best];
  if (rounds > 1) return (!final_ && caches_decide() ? close_for_caches : far_behind) * agreed_[best];
  const double disturbance = (noise_ == Noise::little ? least_disturbance_seconds : disturbance_seconds) / counted;
  return std::max(far_behind_at_first * agreed_[best], agreed_[best] + disturbance);
}

/// Seconds that a call of `way` takes more than one of the best, as far as is known. What a single round says beyond
/// what a way that stays may take was a disturbance, until another one says it too.
double Trial::behind(std::size_t way, std::size_t best) const {
  const double most = rounds_of_way_[way].size() < 2 ? (far_behind_at_first - 1) * quickest_[best] : infinite;
  return std::clamp(quickest_[way] - quickest_[best], 0.0, most);
}

/// What this round has cost beyond calls of the way that is ahead.
void Trial::note_cost(std::size_t best) {
  for (std::size_t way = 0; way < dropped_.size(); ++way)
    if (!dropped_[way]) debt_ += runs_[way] * behind(way, best);
}

/// For what was spent and what the next round is expected to cost.
void Trial::begin_rest(std::size_t best, double expected) {
  constexpr double most = 1e15; // calls; the clock of a machine may say that some take no time
  ahead_ = best;
  const double calls = std::ceil(price_ * std::max(0.0, debt_ + expected) / std::max(agreed_[best], 1e-9));
  rest_ = static_cast<std::uint64_t>(std::min(calls, most));
  debt_ = std::min(debt_, -expected); // the next round is paid for in advance
}

/// As the pace says, and runs that last for a while, more so where there is noise. A way that looks hopeless has a
/// short one, which tells whether its glance was disturbed.
void Trial::set_runs() {
  const Pace& pace = pace_of(bytes_);
  const double quickest = *std::min_element(quickest_.begin(), quickest_.end());
  for (std::size_t way = 0; way < runs_.size(); ++way) {
    const double seconds = noise_ == Noise::little ? run_seconds_with_little_noise : run_seconds;
    const double calls = std::min(seconds / std::max(quickest_[way], 1e-9), most_calls_of_a_run);
    runs_[way] = std::max(pace.run, uncounted_ + static_cast<std::uint32_t>(std::lround(calls)));
    if (rounds_of_way_[way].size() < 2 && quickest_[way] > far_behind_at_first * quickest)
      runs_[way] = uncounted_ + pace.glance - pace.uncounted_of_glance;
  }
}

/// Long ones, of which each way left counts half of the calls or more.
void Trial::set_final_runs() {
  const FinalRun& final_of_noise = noise_ == Noise::little ? final_run_with_little_noise : final_run;
  std::uint32_t shortest = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t way = 0; way < runs_.size(); ++way) {
    const double calls = std::min(final_of_noise.seconds / std::max(agreed_[way], 1e-9), final_of_noise.most_calls);
    runs_[way] = std::max(pace_of(bytes_).run, uncounted_ + static_cast<std::uint32_t>(std::lround(calls)));
    if (!dropped_[way]) shortest = std::min(shortest, runs_[way]);
  }
  uncounted_ = std::max(uncounted_, shortest / final_of_noise.part_not_counted);
}

/// Of those that are left.
bool Trial::are_alike(std::size_t best) const {
  if (noise_ == Noise::little || rounds_of_way_[best].size() < rounds_before_alike) return false;
  for (std::size_t way = 0; way < dropped_.size(); ++way)
    if (!dropped_[way] && agreed_[way] > alike * agreed_[best]) return false;
  return true;
}

/// Whether a way's rounds may tell more of the caches, as another way left them, than of the way.
bool Trial::caches_decide() const {
  return noise_ == Noise::little && !long_ && price_ > 0 && bytes_ >= fills_caches_from;
}

/// In one node only of short calls, and only where the decision is not wanted as soon as possible.
bool Trial::may_have_a_final() const {
  return noise_ == Noise::network || caches_decide() || (noise_ == Noise::shared_cores && !long_ && price_ > 0);
}

/// False where there was one, or need not be one.
bool Trial::begin_final(std::size_t best) {
  if (!may_have_a_final() || std::exchange(final_, true)) return false;
  const double limit = (caches_decide() ? close_for_caches : close) * agreed_[best];
  std::size_t left = 0;
  for (std::size_t way = 0; way < dropped_.size(); ++way) {
    if (agreed_[way] > limit) dropped_[way] = true;
    if (!dropped_[way]) ++left;
  }
  if (left < 2) return false;
  forget_rounds();
  set_final_runs();
  rounds_ = long_ || noise_ == Noise::little ? rounds_of_a_final_that_varies_little : rounds_of_a_final;
  return true;
}

} // namespace strata::tune
