// SPDX-License-Identifier: BSD-3-Clause
#include "tools/tune_measure.h"

#include "tools/complaint.h"
#include "tools/perf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>

namespace strata::tools {
namespace {

/// Candidates by prediction that are measured without --all, and the exchange of small vectors in any case.
constexpr std::size_t best_candidates = 6;

constexpr double batch_seconds = 100e-6; // long beside the clock's resolution and the barrier's skew
constexpr double longer_batch_seconds = 2e-3;
constexpr std::uint64_t fewest_calls = 8; // the first find the caches as the way before left them
constexpr double short_call_seconds = 10e-3;
/// Networks have queues, and allowances that a way may use up, and which fill again while others have their turn.
constexpr double network_batch_seconds = 50e-3;
constexpr double first_uncounted_part = 0.25;
constexpr std::uint64_t fewest_long_calls = 4; // of those that are not even short: the first is not counted
constexpr double very_long_call_seconds = 100e-3;
constexpr std::uint64_t most_calls = 5000;
constexpr std::size_t fewest_rounds = 3, most_rounds = 200, any_number = std::numeric_limits<std::size_t>::max();
constexpr std::size_t finalists = 4; // beside the MPI library's own, and what strata chose
/// Ways this far behind the best after so many rounds are not measured further.
constexpr std::size_t rounds_before_dropping = 2;
constexpr double far_behind = 1.5;
/// And ways this far behind in their first call, where calls are so long that a round of all would take minutes.
constexpr double hopelessly_behind = 3;

/// The numbers below `many`, on all ranks in the same order.
std::vector<std::size_t> drawn_order(std::size_t many, std::size_t round) {
  std::vector<std::size_t> order(many);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 dice(static_cast<std::uint32_t>(round));
  for (std::size_t left = many; left > 1; --left)
    std::swap(order[left - 1], order[dice() % left]);
  return order;
}

double least(const std::vector<double>& seconds) { return *std::min_element(seconds.begin(), seconds.end()); }

} // namespace

tune::Way way_in(const std::string& words) {
  const auto way = tune::way_from(words);
  return way ? *way : tune::Way{};
}

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

/// `chosen` is one of them, if it is not empty.
std::vector<Sweep::Contender> Sweep::contenders(std::uint64_t bytes, const std::string& chosen) const {
  std::vector<Contender> all{{"native", Runs::native, true, {}, 1}};
  if (takes_part_by_itself()) all.push_back({"", Runs::by_itself, true, {}, 1});
  std::vector<std::string> ways = words_of_ways(bytes);
  const auto is_chosen = [&](const std::string& words) { return way_in(words) == way_in(chosen); };
  const bool is_new = !chosen.empty() && chosen != "native" && std::none_of(ways.begin(), ways.end(), is_chosen);
  if (is_new) ways.push_back(chosen);
  // What cannot be set up (no memory, an unreachable peer) fails on all ranks alike.
  for (const std::string& words : ways)
    if (strata_.use_way(&communicator_, bytes, words.c_str()) == 0)
      all.push_back({words, Runs::way, true, {}, 1});
    else if (!flags_.ways.empty() || words == chosen)
      complain("strata-tune", fmt::format("{} bytes: '{}' is not possible here", bytes, words), 0);
  return all;
}

/// Seconds of a call, on this rank, of those that are counted.
double Sweep::batch(const Contender& contender, std::uint64_t bytes, std::uint64_t calls) const {
  if (contender.runs == Runs::way) strata_.use_way(&communicator_, bytes, contender.words.c_str());
  const AllReduce function =
      contender.runs == Runs::native ? reinterpret_cast<AllReduce>(strata_.native_allreduce) : &MPI_Allreduce;
  const MPI_Comm communicator = contender.runs == Runs::by_itself ? by_itself_ : communicator_;
  const auto run = [&](std::uint64_t number) {
    for (std::uint64_t call = 0; call < number; ++call)
      function(input_.get(), output_.get(), static_cast<int>(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, communicator);
  };
  MPI_Barrier(MPI_COMM_WORLD);
  const auto uncounted = static_cast<std::uint64_t>(uncounted_part_ * static_cast<double>(calls));
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
  if (is_long != 0 && drops_) drop_those_behind(contenders, hopelessly_behind);
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
  for (const Contender& contender : contenders) { // but no way that is to be compared with the others
    const bool is_near = contender.runs != Runs::way || least(contender.seconds) <= times * best;
    left.push_back(contender.is_left && is_near ? 1 : 0);
  }
  keep(contenders, std::move(left));
}

/// By rank 0's word.
void Sweep::keep(std::vector<Contender>& contenders, std::vector<char> left) const {
  MPI_Bcast(left.data(), static_cast<int>(left.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < left.size(); ++i)
    contenders[i].is_left = left[i] != 0;
}

/// Who follows whom decides what is in the caches and where the kernel has put the ranks; so it is drawn anew for each
/// round.
void Sweep::run_round(std::vector<Contender>& contenders, std::uint64_t bytes) const {
  std::vector<double> seconds(contenders.size());
  for (const std::size_t place : drawn_order(contenders.size(), contenders.front().seconds.size()))
    if (contenders[place].is_left) seconds[place] = batch(contenders[place], bytes, contenders[place].calls);
  seconds = longest_of_all(seconds);
  for (std::size_t i = 0; i < contenders.size(); ++i)
    if (contenders[i].is_left) contenders[i].seconds.push_back(seconds[i]);
  if (drops_ && contenders.front().seconds.size() >= rounds_before_dropping) drop_those_behind(contenders, far_behind);
}

/// Until they have taken what a contest may, by rank 0's clock.
void Sweep::run_rounds(std::vector<Contender>& contenders, std::uint64_t bytes, double begin,
                       std::size_t most_rounds) const {
  int goes_on = 1;
  for (std::size_t round = 0; goes_on != 0; ++round) {
    run_round(contenders, bytes);
    goes_on = round + 1 < fewest_rounds || (round + 1 < most_rounds && clock_seconds() - begin < flags_.seconds);
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

/// A card that may send a while at more than its rate saves up for that while others have their turn. A way that fills
/// it for a part of its time only has used that up after a tenth of a second, not after the short batches of many. In a
/// node the way before leaves its caches, and ranks that share cores in an order of its own.
void Sweep::lengthen_batches(std::vector<Contender>& contenders) {
  uncounted_part_ = 0.5;
  std::uint64_t calls = calls_for(longer_batch_seconds, best_of(contenders), 1, most_calls); // in a node
  MPI_Bcast(&calls, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (Contender& contender : contenders)
    if (contender.calls > 1) contender.calls = between_nodes_ ? 4 * contender.calls : std::max(contender.calls, calls);
}

/// Those in `left` once more, by themselves.
void Sweep::contest(std::vector<Contender>& contenders, std::vector<char> left, std::uint64_t bytes) {
  drops_ = false;
  keep(contenders, std::move(left));
  for (Contender& contender : contenders)
    if (contender.is_left) contender.seconds.clear();
  run_rounds(contenders, bytes, clock_seconds(), any_number);
}

double Sweep::median_of(const Contender& one) { return spread_of(one.seconds).median; }

/// Those that are compared with all, and the best of the others; of ways that a person named, all.
std::vector<char> Sweep::finalists_of(const std::vector<Contender>& contenders, const std::string& chosen) const {
  std::vector<std::size_t> others;
  std::vector<char> left;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    left.push_back(is_compared(contenders[i], chosen) || !flags_.ways.empty() ? 1 : 0);
    if (left.back() == 0) others.push_back(i);
  }
  std::stable_sort(others.begin(), others.end(),
                   [&](std::size_t a, std::size_t b) { return median_of(contenders[a]) < median_of(contenders[b]); });
  for (std::size_t place = 0; place < std::min(finalists, others.size()); ++place)
    left[others[place]] = 1;
  return left;
}

MeasuredSize Sweep::measure(std::uint64_t bytes) {
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  MeasuredSize size{bytes, {}};
  if (const nlohmann::json facts = context_facts(strata_, communicator_); facts.contains("ranks")) {
    between_nodes_ = facts.value("nodes", 1) > 1;
    drops_ = flags_.ways.empty();
    uncounted_part_ = between_nodes_ ? first_uncounted_part : 0;
    const std::string chosen_first = flags_.by_itself ? settle_by_itself(bytes) : std::string();
    std::string chosen = chosen_first;
    const double begin = clock_seconds();
    std::vector<Contender> all = contenders(bytes, chosen);
    choose_batches(all, bytes);
    run_rounds(all, bytes, begin, most_rounds);
    const bool has_final = between_nodes_ || takes_part_by_itself();
    if (has_final) {
      lengthen_batches(all);
      if (takes_part_by_itself()) chosen = go_on_by_itself(all, bytes);
      contest(all, finalists_of(all, chosen), bytes);
    }
    for (const Contender& one : all)
      if (one.runs != Runs::by_itself)
        (has_final && !one.is_left ? size.briefly : size.ways).push_back({way_in(one.words), median_of(one)});
    if (takes_part_by_itself()) size.own = judge(all, chosen_first, chosen, bytes);
  }
  if (takes_part_by_itself()) MPI_Comm_free(&by_itself_);
  MPI_Comm_free(&communicator_);
  return size;
}

} // namespace strata::tools
