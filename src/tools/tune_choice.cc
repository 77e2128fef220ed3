// SPDX-License-Identifier: BSD-3-Clause
// strata-tune --by-itself: what strata chooses when nobody tells it, and how that compares with the best. Of ways that
// are equally fast, the first of a final is one that was lucky; so it and strata's choice are measured once more.
#include "tools/complaint.h"
#include "tools/mpi_trials.h"
#include "tools/perf.h"
#include "tools/perf_values.h"
#include "tools/tune_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::tools {
namespace {

constexpr double close_to_best = 1.25;
/// Of a time: with two of them, a ratio is known to 1.5%. But for no longer than so many contests; where strata's
/// choice seems to differ from the best, in whichever direction, for so many more.
constexpr double small_doubt = 0.01, contests_of_doubt = 3, small_difference = 0.03, contests_of_difference = 12;

/// Rank 0's.
std::string on_all_ranks(std::string text) {
  std::uint64_t length = text.size();
  MPI_Bcast(&length, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  text.resize(length);
  MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
}

} // namespace

/// What does the calls by now; none where ways are tried.
std::optional<tune::Way> Sweep::own_way(std::uint64_t bytes) const {
  const auto way = tune::way_from(choice_facts(strata_, by_itself_, bytes).value("way", ""));
  return way ? std::optional(*way) : std::nullopt;
}

/// What it chose, in the words of a table; nothing where it was still trying, or where strata does not serve the
/// communicator, which is null then.
std::string Sweep::settle_by_itself(std::uint64_t bytes) {
  MPI_Comm_dup(MPI_COMM_WORLD, &by_itself_);
  if (!context_facts(strata_, by_itself_).contains("ranks")) { // makes the context; trials begin with calls
    complain("strata-tune", fmt::format("{} bytes: strata did not serve the ranks that it was to choose for", bytes),
             0);
    MPI_Comm_free(&by_itself_);
    return {};
  }
  return choose_in_calls(bytes, 0);
}

/// In calls of strata by itself alone, for `least` seconds or until it tries no more ways.
std::string Sweep::choose_in_calls(std::uint64_t bytes, double least) {
  const HastyTrials hasty(strata_, by_itself_);
  const Contender itself{"", Runs::by_itself, true, {}, 1};
  finish_trials(strata_, by_itself_, bytes, least, flags_.settling,
                [&](std::uint64_t calls) { return batch(itself, bytes, calls); });
  const auto way = own_way(bytes);
  return on_all_ranks(way ? to_text(*way) : std::string());
}

/// As a program does that makes these calls all the time: while other ways were measured, the machine may have changed,
/// which strata sees by its own calls only. What it goes by then takes part.
std::string Sweep::go_on_by_itself(std::vector<Contender>& contenders, std::uint64_t bytes) {
  std::string chosen = choose_in_calls(bytes, flags_.seconds);
  const bool is_known =
      std::any_of(contenders.begin(), contenders.end(), [&](const Contender& one) { return is_forced(one, chosen); });
  if (chosen.empty() || is_known || strata_.use_way(&communicator_, bytes, chosen.c_str()) != 0) return chosen;
  const auto itself = std::find_if(contenders.begin(), contenders.end(),
                                   [](const Contender& one) { return one.runs == Runs::by_itself; });
  Contender added{chosen, Runs::way, true, {}, itself->calls};
  added.seconds = longest_of_all({batch(added, bytes, added.calls)});
  contenders.push_back(std::move(added));
  return chosen;
}

/// All ranks', on rank 0.
std::uint64_t Sweep::wrong_elements(const Contender& contender, std::uint64_t bytes) const {
  const std::size_t elements = bytes / sizeof(float);
  std::fill_n(reinterpret_cast<float*>(output_.get()), elements, -1.0f);
  batch(contender, bytes, 1);
  const KnownVectors known(type::Element::float32, type::Operation::sum, ranks_in_world());
  const std::int64_t mine = known.differences(output_.get(), elements);
  std::int64_t all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  return static_cast<std::uint64_t>(all);
}

/// By a call of each of those that are left, on vectors whose sum is known.
void Sweep::check_results(OwnChoice& own, const std::vector<Contender>& contenders, std::uint64_t bytes) const {
  const std::size_t elements = bytes / sizeof(float);
  KnownVectors(type::Element::float32, type::Operation::sum, ranks_in_world())
      .fill(input_.get(), elements, rank_in_world());
  for (const Contender& one : contenders)
    if (one.is_left) (one.runs == Runs::native ? own.native_wrong : own.wrong) += wrong_elements(one, bytes);
  std::fill_n(reinterpret_cast<float*>(input_.get()), elements, 1.0f);
}

/// The way that strata chose, where it is told to go it.
bool Sweep::is_forced(const Contender& one, const std::string& chosen) {
  return one.runs != Runs::by_itself && !chosen.empty() && way_in(one.words) == way_in(chosen);
}

/// Besides, the MPI library's own, and strata by itself.
bool Sweep::is_compared(const Contender& one, const std::string& chosen) {
  return one.runs != Runs::way || is_forced(one, chosen);
}

/// The largest of those that are compared; but where the MPI library's own is far behind, it need not be known well.
double Sweep::doubt_among(const std::vector<Contender>& contenders) {
  double best = std::numeric_limits<double>::infinity(), doubt = 0;
  for (const Contender& one : contenders)
    if (one.is_left) best = std::min(best, median_of(one));
  for (const Contender& one : contenders)
    if (one.is_left && (one.runs != Runs::native || median_of(one) <= close_to_best * best))
      doubt = std::max(doubt, doubt_of_median(one.seconds));
  return doubt;
}

/// Of strata by itself, from the best of the ways in the first contest.
double Sweep::difference_from(const Contender& best, const std::vector<Contender>& contenders) {
  for (const Contender& one : contenders)
    if (one.runs == Runs::by_itself) return std::abs(median_of(one) / median_of(best) - 1);
  return 0;
}

/// More rounds of a contest, where times vary so much that those that it had do not tell the medians. By rank 0's word.
void Sweep::settle_doubts(std::vector<Contender>& contenders, std::size_t best, std::uint64_t bytes) const {
  const double begin = clock_seconds();
  for (;;) {
    const bool differs = difference_from(contenders[best], contenders) > small_difference;
    const double most = (contests_of_doubt + (differs ? contests_of_difference : 0)) * flags_.seconds;
    int goes_on = doubt_among(contenders) > small_doubt && clock_seconds() - begin < most ? 1 : 0;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (goes_on == 0) return;
    run_round(contenders, bytes);
  }
}

/// Behind the final. Complete on rank 0, which decides who takes part.
OwnChoice Sweep::judge(std::vector<Contender>& contenders, const std::string& chosen_first, const std::string& chosen,
                       std::uint64_t bytes) {
  OwnChoice own;
  if (!chosen_first.empty()) own.way_at_first = way_in(chosen_first);
  if (!chosen.empty()) own.way = way_in(chosen);
  std::size_t best = 0; // the MPI library's own
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& one = contenders[i];
    if (one.is_left && one.runs != Runs::by_itself && median_of(one) < median_of(contenders[best])) best = i;
  }
  std::vector<char> left;
  for (std::size_t i = 0; i < contenders.size(); ++i)
    left.push_back(is_compared(contenders[i], chosen) || i == best ? 1 : 0);
  contest(contenders, left, bytes);
  settle_doubts(contenders, best, bytes);

  own.doubt = doubt_among(contenders);
  own.best = MeasuredWay{way_in(contenders[best].words), median_of(contenders[best])};
  for (const Contender& one : contenders) {
    if (one.runs == Runs::native) own.native_seconds = median_of(one);
    if (one.runs == Runs::by_itself) own.seconds = median_of(one);
    if (is_forced(one, chosen)) own.forced_seconds = median_of(one);
  }
  own.way_after = own_way(bytes);
  check_results(own, contenders, bytes);
  return own;
}

} // namespace strata::tools
