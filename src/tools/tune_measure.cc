// SPDX-License-Identifier: BSD-3-Clause
#include "tools/tune_measure.h"

#include "tools/complaint.h"
#include "tools/perf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::tools {
namespace {

/// Candidates by prediction that are measured without --all, and the exchange of small vectors in any case.
constexpr std::size_t best_candidates = 6;

constexpr double batch_seconds = 100e-6;  // long beside the clock's resolution and the barrier's skew
constexpr std::uint64_t fewest_calls = 8; // the first find the caches as the way before left them
constexpr double short_call_seconds = 10e-3;
/// Networks have queues, and allowances that a way may use up, and which fill again while others have their turn.
constexpr double network_batch_seconds = 50e-3;
constexpr std::uint64_t fewest_long_calls = 4; // of those that are not even short: the first is not counted
constexpr double very_long_call_seconds = 100e-3;
constexpr std::uint64_t most_calls = 5000;
constexpr std::size_t fewest_rounds = 3, most_rounds = 200;
/// Ways this far behind the best after so many rounds are not measured further.
constexpr std::size_t rounds_before_dropping = 2;
constexpr double far_behind = 1.5;
/// And ways this far behind in their first call, where calls are so long that a round of all would take minutes.
constexpr double hopelessly_behind = 3;

double least(const std::vector<double>& seconds) { return *std::min_element(seconds.begin(), seconds.end()); }

} // namespace

Sweep::Sweep(const TuneFlags& flags, const strata_mpi_introspection& strata) : flags_(flags), strata_(strata) {}

bool Sweep::take_memory() {
  const std::uint64_t most = flags_.sizes.back();
  input_ = pages(most);
  output_ = pages(most);
  if (input_ == nullptr || output_ == nullptr) return false;
  std::fill_n(reinterpret_cast<float*>(input_.get()), most / sizeof(float), 1.0f);
  std::fill_n(reinterpret_cast<float*>(output_.get()), most / sizeof(float), 0.0f);
  return true;
}

/// The same on all ranks: strata decides from what they agreed on.
std::vector<std::string> Sweep::words_of_ways(std::uint64_t bytes) const {
  if (!flags_.ways.empty()) return flags_.ways;
  const nlohmann::json choice = choice_facts(strata_, communicator_, bytes);
  std::vector<std::string> words;
  std::size_t taken = 0;
  for (const auto& candidate : choice.value("ways", nlohmann::json::array())) {
    const auto ways = candidate.get<std::vector<std::string>>();
    const bool is_board = ways.front().starts_with("board");
    if (ways.front() == "native" || (!flags_.all && !is_board && taken == best_candidates)) continue;
    taken += is_board ? 0 : 1;
    words.insert(words.end(), ways.begin(), ways.end());
  }
  return words;
}

std::vector<Sweep::Contender> Sweep::contenders(std::uint64_t bytes) const {
  std::vector<Contender> all{{"native", true, true, {}, 1}};
  // What cannot be set up (no memory, an unreachable peer) fails on all ranks alike.
  for (const std::string& words : words_of_ways(bytes))
    if (strata_.use_way(&communicator_, bytes, words.c_str()) == 0)
      all.push_back({words, false, true, {}, 1});
    else if (!flags_.ways.empty())
      complain("strata-tune", fmt::format("{} bytes: '{}' is not possible here", bytes, words), 0);
  return all;
}

/// Seconds of a call, on this rank; the first calls between nodes are not counted.
double Sweep::batch(const Contender& contender, std::uint64_t bytes, std::uint64_t calls) const {
  if (!contender.is_native) strata_.use_way(&communicator_, bytes, contender.words.c_str());
  const AllReduce function =
      contender.is_native ? reinterpret_cast<AllReduce>(strata_.native_allreduce) : &MPI_Allreduce;
  const auto run = [&](std::uint64_t number) {
    for (std::uint64_t call = 0; call < number; ++call)
      function(input_.get(), output_.get(), static_cast<int>(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, communicator_);
  };
  MPI_Barrier(MPI_COMM_WORLD);
  const std::uint64_t uncounted = between_nodes_ ? calls / 4 : 0;
  run(uncounted);
  const double begin = clock_seconds();
  run(calls - uncounted);
  return (clock_seconds() - begin) / static_cast<double>(calls - uncounted);
}

/// Rank 0 decides for all, by the first call of each. These calls also touch what first calls touch. In a node all make
/// as many; between nodes each fills a batch of its own, because one may take hundreds of times as long as another (an
/// MPI library's ranks that wait for each other with more ranks than cores).
void Sweep::choose_batches(std::vector<Contender>& contenders, std::uint64_t bytes) const {
  run_round(contenders, bytes);
  const double shortest = best_of(contenders);
  int is_long = shortest >= very_long_call_seconds;
  std::uint64_t calls = shortest < short_call_seconds ? fewest_calls : 1;
  if (between_nodes_)
    calls = is_long != 0 ? calls : std::max(calls, fewest_long_calls);
  else
    calls = calls_for(batch_seconds, shortest, calls, most_calls);
  MPI_Bcast(&calls, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  MPI_Bcast(&is_long, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (is_long != 0 && flags_.ways.empty()) drop_those_behind(contenders, hopelessly_behind);
  for (Contender& contender : contenders) {
    if (!contender.is_left) continue; // its first call is all that there will be
    contender.seconds.clear();
    contender.calls = between_nodes_ && is_long == 0 ? calls_of_network_batch(contender, bytes, calls) : calls;
  }
}

/// A network may let the first calls pass at once, so that one tells little of those that follow: twice as many as
/// before, until they fill a batch. One, where that shows that calls are very long.
std::uint64_t Sweep::calls_of_network_batch(const Contender& contender, std::uint64_t bytes,
                                            std::uint64_t fewest) const {
  for (std::uint64_t calls = fewest;;) {
    double seconds = longest_of_all({batch(contender, bytes, calls)}).front();
    int looks_long = seconds >= very_long_call_seconds;
    MPI_Bcast(&looks_long, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (looks_long != 0) // or was held up
      seconds =
          std::min(seconds, longest_of_all({batch(contender, bytes, std::max<std::uint64_t>(1, calls / 2))}).front());
    std::uint64_t enough =
        seconds >= very_long_call_seconds ? 1 : calls_for(network_batch_seconds, seconds, fewest, most_calls);
    MPI_Bcast(&enough, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (enough <= calls) return enough;
    calls = std::min(enough, 2 * calls);
  }
}

double Sweep::best_of(const std::vector<Contender>& contenders) {
  double best = least(contenders.front().seconds);
  for (const Contender& contender : contenders)
    best = std::min(best, least(contender.seconds));
  return best;
}

/// By rank 0's times, which are those of all.
void Sweep::drop_those_behind(std::vector<Contender>& contenders, double times) const {
  const double best = best_of(contenders);
  std::vector<char> left;
  for (const Contender& contender : contenders) // native stays, to be compared with
    left.push_back(contender.is_left && (contender.is_native || least(contender.seconds) <= times * best) ? 1 : 0);
  MPI_Bcast(left.data(), static_cast<int>(left.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < left.size(); ++i)
    contenders[i].is_left = left[i] != 0;
}

void Sweep::run_round(std::vector<Contender>& contenders, std::uint64_t bytes) const {
  std::vector<double> seconds;
  for (const Contender& contender : contenders)
    if (contender.is_left) seconds.push_back(batch(contender, bytes, contender.calls));
  seconds = longest_of_all(seconds);
  std::size_t next = 0;
  for (Contender& contender : contenders)
    if (contender.is_left) contender.seconds.push_back(seconds[next++]);
  if (flags_.ways.empty() && contenders.front().seconds.size() >= rounds_before_dropping)
    drop_those_behind(contenders, far_behind);
}

MeasuredSize Sweep::measure(std::uint64_t bytes) {
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  MeasuredSize size{bytes, {}};
  if (const nlohmann::json facts = context_facts(strata_, communicator_); facts.contains("ranks")) {
    between_nodes_ = facts.value("nodes", 1) > 1;
    const double begin = clock_seconds();
    std::vector<Contender> all = contenders(bytes);
    choose_batches(all, bytes);
    int goes_on = 1;
    for (std::size_t round = 0; goes_on != 0; ++round) {
      run_round(all, bytes);
      goes_on = round + 1 < fewest_rounds || (round + 1 < most_rounds && clock_seconds() - begin < flags_.seconds);
      MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    for (const Contender& contender : all)
      if (const auto way = tune::way_from(contender.words))
        size.ways.push_back({*way, spread_of(contender.seconds).median});
  }
  MPI_Comm_free(&communicator_);
  return size;
}

} // namespace strata::tools
