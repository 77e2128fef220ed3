// SPDX-License-Identifier: BSD-3-Clause
// The first calls of a size class, which try the best ways by prediction, and the MPI library's own, in turn.
#include "comm/context.h"

#include "base/log.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace strata::comm {
namespace {

/// In one node, a schedule's steps cost shorter vectors more than the latency path takes in all.
constexpr std::size_t schedules_in_memory_from = std::size_t{4} << 10;

/// Between nodes, calls of this size and more take so long that fewer ways are tried.
constexpr std::size_t few_ways_from = std::size_t{1} << 20;

/// Of shorter calls, which many algorithms of many nodes may do best: a message costs what the model does not know.
constexpr std::uint8_t most_trials = 3;

/// A way that is predicted to take this much longer than the best is not tried; the best of another kind may be
/// predicted worse, and in later trials that of another algorithm.
constexpr double hopeless = 2, hopeless_of_its_kind = 4, hopeless_at_all = 8;

/// What a prediction may be wrong about for many ways alike: what a message costs beside a byte, what racks do, and
/// what devices take, of which it knows nothing. So whether inner levels reduce to a leader or each rank has its part,
/// whether racks count, and whether slices are such as devices like, are kinds of ways.
constexpr std::size_t kinds = 8;
std::size_t kind_of(const tune::Candidate& candidate) {
  const auto& levels = candidate.composition.levels;
  const bool leader = levels.size() > 1 && levels.front().shape == hier::Shape::leader;
  return (candidate.long_slices ? 4 : 0) + (candidate.plain ? 2 : 0) + (leader ? 1 : 0);
}

/// The first schedule of each kind, then the first of each other composition, and the same in other slices last.
std::vector<tune::Candidate> unlike_first(const std::vector<tune::Candidate>& candidates) {
  std::array<bool, kinds> seen_kinds{};
  std::set<std::pair<bool, std::string>> seen_compositions;
  std::vector<tune::Candidate> first, second, others;
  for (const tune::Candidate& candidate : candidates) {
    const bool is_schedule = candidate.kind == tune::Candidate::Kind::schedule;
    const bool of_new_kind = is_schedule && !std::exchange(seen_kinds[kind_of(candidate)], true);
    const bool is_new =
        is_schedule && seen_compositions.emplace(candidate.plain, hier::to_text(candidate.composition)).second;
    (of_new_kind ? first : is_new ? second : others).push_back(candidate);
  }
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

/// Of ways for vectors in device memory, if nothing is tried: long slices over the devices' levels first, the latency
/// path last.
int liked(const tune::Candidate& candidate) {
  if (candidate.kind != tune::Candidate::Kind::schedule) return 3;
  return (candidate.plain ? 2 : 0) + (candidate.long_slices ? 0 : 1);
}

/// What is tried in one node. Schedules that differ by the slice only are too much alike to try them all, but for those
/// that devices like.
class Tried {
public:
  bool has_like(const tune::Candidate& candidate) const { return keys_.count(key_of(candidate)) != 0; }
  void add(const tune::Candidate& candidate) { keys_.insert(key_of(candidate)); }

private:
  using Key = std::tuple<tune::Candidate::Kind, bool, std::size_t>;
  static Key key_of(const tune::Candidate& candidate) {
    return {candidate.kind, candidate.plain, candidate.long_slices ? candidate.slice_bytes : 0};
  }
  std::set<Key> keys_;
};

/// Where calls take this many times what was predicted for the best way, the model lacks what makes them long.
constexpr double far_from_predicted = 2;

/// A kind whose fastest schedule took up to this many times what the fastest of all took may yet have the best one.
constexpr double close_kinds = 1.3;

/// The second of a trial that took up to this many times what the first took may be the faster one: which of them is
/// ahead is luck where many ranks share few cores.
constexpr double close_second = 1.25;

/// What goes between the nodes and between their racks, and in which shapes: what the model lacks there (messages that
/// meet in a queue that drops them) strikes the ways of one such family alike.
using Family = std::vector<std::pair<const coll::Algorithm*, hier::Shape>>;
Family family_of(const tune::Candidate& candidate, const topo::Hierarchy& hierarchy) {
  Family family;
  for (std::size_t level = 0; level < hierarchy.levels.size(); ++level) {
    const hier::LevelPlan& plan = candidate.composition.levels[level];
    if (topo::between_nodes(hierarchy.levels[level].link)) family.emplace_back(plan.algorithm, plan.shape);
  }
  return family;
}

} // namespace

/// The ways of one node, each with the stores that may be best for this size; those of devices store nothing there.
std::vector<Context::Way> Context::with_stores(const std::vector<Way>& ways, std::size_t bytes) const {
  std::vector<Way> all;
  for (const Way& way : ways) {
    if (way.long_slices) {
      all.push_back(way);
      continue;
    }
    for (const tune::Around around : tune::stores_to_try(situation_, way.in_table.kind, bytes)) {
      all.push_back(way);
      all.back().stores = stores_of(around);
    }
  }
  return all;
}

/// A table's way first, then by prediction; but in a trial within a node the latency path before other predictions,
/// which is always worth a try, and between nodes what is unlike the others. Where nothing is tried and devices are
/// used, schedules over their levels before the latency path, which is in the host's memory: its price is without the
/// copies to it.
std::vector<tune::Candidate> Context::order_to_try(const tune::Choice& choice, bool trial) const {
  using Kind = tune::Candidate::Kind;
  std::vector<tune::Candidate> order{choice.chosen};
  order.insert(order.end(), choice.runners_up.begin(), choice.runners_up.end());
  if (situation_.job.nodes > 1) return trial ? unlike_first(order) : order;
  const auto first = order.begin() + (choice.source.empty() ? 0 : 1);
  if (trial)
    std::stable_partition(first, order.end(), [](const auto& candidate) { return candidate.kind == Kind::board; });
  else if (situation_.on_devices && options_.device_peer != DevicePeer::off && options_.algorithm.empty())
    std::stable_sort(first, std::find_if(first, order.end(), [](const auto& one) { return one.kind == Kind::native; }),
                     [](const auto& one, const auto& other) { return liked(one) < liked(other); });
  return order;
}

/// Of a table that decides alone; nothing where it leaves that open, or where its way cannot be made.
std::optional<Context::Way> Context::way_of_table(const tune::Choice& choice, std::size_t bytes, std::string& trouble) {
  if (choice.source.empty() || options_.tune != Tune::file) return std::nullopt;
  auto way = prepare_way(choice.chosen, bytes);
  if (!way) {
    trouble += fmt::format("{}{} cannot be followed", trouble.empty() ? "" : "; ", choice.source);
    return std::nullopt;
  }
  way->stores = choice.chosen.around ? stores_of(*choice.chosen.around) : default_stores(bytes);
  return std::move(*way);
}

// When a candidate cannot be made (no memory, a peer that cannot be reached), the next one is taken; all ranks see the
// same failures, so they take the same. More than one only for a trial.
std::vector<Context::Way> Context::ways_to_try(const tune::Choice& choice, std::size_t bytes, std::string& trouble) {
  if (auto way = way_of_table(choice, bytes, trouble)) return {std::move(*way)};
  const bool one_node = situation_.job.nodes == 1;
  const bool adapts = options_.tune == Tune::online || options_.tune == Tune::file;
  const bool trial = adapts && options_.algorithm.empty() && ranks_ > 1;
  const std::size_t most = trial ? most_ways(bytes) : 1;
  const std::vector<tune::Candidate> order = order_to_try(choice, trial);
  if (!trial && order.front().name() != choice.chosen.name())
    trouble += fmt::format("{}vectors are in device memory", trouble.empty() ? "" : "; ");
  double best = choice.chosen.seconds; // by prediction
  for (const tune::Candidate& candidate : order)
    best = std::min(best, candidate.seconds);
  // The latency path is in the host's memory, and its price by prediction is without the copies to it.
  // So are staged vectors, which profit from long slices at most.
  const bool on_devices = trial && one_node && situation_.on_devices &&
                          (options_.device_peer != DevicePeer::off || bytes >= schedules_in_memory_from);
  std::vector<Way> ways;
  Tried tried;
  bool has_board = false, long_ones_fit = true;
  std::array<bool, kinds> has_kind{};
  std::size_t tries = 0;
  for (const tune::Candidate& candidate : order) {
    using Kind = tune::Candidate::Kind;
    if (candidate.kind == Kind::native) {
      if (!trial) break;
      continue;
    }
    const bool of_new_kind = !one_node && !std::exchange(has_kind[kind_of(candidate)], true);
    const bool is_for_devices = on_devices && candidate.kind == Kind::schedule && !tried.has_like(candidate);
    if (!ways.empty() && !is_for_devices && candidate.seconds > (of_new_kind ? hopeless_of_its_kind : hopeless) * best)
      continue;
    if (ways.size() == most || tries == most + 2) break;
    if (one_node && trial && tried.has_like(candidate)) continue;
    if (candidate.long_slices && !long_ones_fit) continue;
    if (has_board && bytes < schedules_in_memory_from && !is_for_devices) continue;
    ++tries;
    if (auto way = prepare_way(candidate, bytes)) {
      tried.add(candidate);
      has_board |= candidate.kind == Kind::board;
      ways.push_back(std::move(*way));
    } else {
      trouble += (trouble.empty() ? "" : "; ") + way.error().message;
      long_ones_fit &= !candidate.long_slices;
    }
  }
  for (Way& way : ways)
    way.stores = default_stores(bytes);
  if (trial && one_node) ways = with_stores(ways, bytes);
  if (ways.empty() || (trial && tune::native_is_a_candidate(situation_, options_)))
    ways.push_back({Path::native, nullptr, nullptr, {}, false, "native", {}, {}});
  return ways;
}

Outcome Context::try_a_way(const Call& call, Decision& decision, std::size_t bytes) {
  Probation& trial = *decision.trial;
  if (trial.trial.rests()) return rest(call, decision, bytes);
  trial.started = std::chrono::steady_clock::now();
  const Outcome outcome = run(call, trial.ways[trial.trial.way()], bytes);
  if (outcome == Outcome::native) return Outcome::native_on_trial;
  if (outcome == Outcome::peer_lost) return outcome;
  conclude_trial_call(decision, bytes);
  return Outcome::done;
}

/// With the way that is ahead; where it would be watched after the trial, it is.
Outcome Context::rest(const Call& call, Decision& decision, std::size_t bytes) {
  decision.trial->trial.rested();
  return decision.review ? run_reviewed(call, decision, bytes) : run(call, watched_way(decision), bytes);
}

void Context::native_done(const Call& call) {
  const std::size_t bytes = static_cast<std::size_t>(call.elements) * type::bytes_of(call.element);
  Decision& decision = decisions_[tune::size_class(bytes)];
  if (decision.review && decision.review->is_timing)
    conclude_reviewed_call(decision, bytes);
  else
    conclude_trial_call(decision, bytes);
}

void Context::conclude_trial_call(Decision& decision, std::size_t bytes) {
  if (decision.trial->trial.is_long()) wait_for_last_to_leave();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - decision.trial->started;
  if (!decision.trial->trial.add(spent.count())) return;
  Status settled = bootstrap_->run([&] { settle_trial(decision, bytes); });
  if (!settled) leave_all_to_native(std::move(settled).error());
}

void Context::wait_for_last_to_leave() {
  const double nothing = 0; // a rank that cannot be asked is missed by the exchange after the round, too
  (void)bootstrap_->all_gather(&nothing, seconds_of_all_.data(), sizeof nothing);
}

void Context::settle_trial(Decision& decision, std::size_t bytes) {
  Probation& trial = *decision.trial;
  const std::vector<double>& mine = trial.trial.times();
  std::vector<double> all(mine.size() * static_cast<std::size_t>(ranks_));
  if (!bootstrap_->all_gather(mine.data(), all.data(), mine.size() * sizeof(double))) return;
  const bool was_row = trial.trial.is_in_row(), was_long = trial.trial.is_long();
  const bool over = trial.trial.settle(all);
  for (std::size_t way = 0; way < trial.ways.size(); ++way) {
    const double seconds = trial.trial.agreed_times()[way];
    if (trial.ways[way].seconds == seconds) continue; // known from before
    trial.ways[way].seconds = seconds;
    trial.ways[way].is_timed_to_the_last = was_long;
  }
  if (decision.review) decision.review->alarms = 0;
  if (!was_row) hold_against_profile(trial, bytes); // a row tells of one way alone
  if (!over) return begin_review(decision, bytes);
  if (options_.log_choice && rank_ == 0) log_trial(trial, bytes);
  const std::size_t fastest = trial.trial.way();
  if (decision.trials < most_trials) ++decision.trials;
  const bool goes_on =
      bytes < few_ways_from ? decision.trials < most_trials : decision.trials == 1 && is_far_from_predicted(trial);
  for (std::size_t way = 0; way < trial.ways.size(); ++way)
    (way == fastest ? decision.way : decision.others.emplace_back()) = std::move(trial.ways[way]);
  decision.trial.reset();
  if (goes_on && situation_.job.nodes > 1 && widen_trial(decision, bytes)) return;
  if (!try_depths(decision, bytes) && !try_stores(decision, bytes)) begin_review(decision, bytes);
}

/// As measured; null where none is on trial.
const Context::Way* Context::fastest_schedule(const Probation& trial) {
  const Way* best = nullptr;
  for (const Way& way : trial.ways)
    if (way.path == Path::plan && (best == nullptr || way.seconds < best->seconds)) best = &way;
  return best;
}

bool Context::is_far_from_predicted(const Probation& trial) {
  const Way* const best = fastest_schedule(trial);
  return best != nullptr && best->seconds > far_from_predicted * best->predicted;
}

/// The winner against the best, by prediction, of each family that was not tried, of the kinds whose schedules were the
/// fastest; and against the second, where that was close. False, and the winner stays, without any that was not tried.
bool Context::widen_trial(Decision& decision, std::size_t bytes) {
  std::map<std::string, double> measured;
  measured.emplace(decision.way.name, decision.way.seconds);
  for (const Way& other : decision.others)
    measured.emplace(other.name, other.seconds);
  std::vector<tune::Candidate> schedules; // the tried ones first, the fastest before others; then by prediction
  double best = 0;                        // by prediction
  for (tune::Candidate& candidate : order_to_try(choice_for(bytes), true)) {
    if (candidate.kind != tune::Candidate::Kind::schedule) continue;
    best = schedules.empty() ? candidate.seconds : std::min(best, candidate.seconds);
    if (const auto known = measured.find(name_of(candidate)); known != measured.end())
      candidate.seconds = known->second;
    schedules.push_back(std::move(candidate));
  }
  const auto untried = std::stable_partition(schedules.begin(), schedules.end(), [&](const auto& candidate) {
    return measured.count(name_of(candidate)) != 0;
  });
  const auto faster = [](const auto& one, const auto& other) { return one.seconds < other.seconds; };
  std::stable_sort(schedules.begin(), untried, faster);
  std::stable_sort(untried, schedules.end(), faster);
  if (schedules.begin() == untried) return false;
  std::set<std::size_t> good_kinds;
  std::set<std::pair<std::size_t, Family>> tried;
  for (auto candidate = schedules.begin(); candidate != untried; ++candidate) {
    if (candidate->seconds <= close_kinds * schedules.front().seconds) good_kinds.insert(kind_of(*candidate));
    tried.emplace(kind_of(*candidate), family_of(*candidate, situation_.job_of(*candidate).hierarchy));
  }
  const std::size_t most = most_ways(bytes);
  std::vector<Way> ways;
  for (auto candidate = untried; candidate != schedules.end() && ways.size() < most; ++candidate) {
    if (candidate->seconds > hopeless_at_all * best) break;
    const std::size_t kind = kind_of(*candidate);
    const Family family = family_of(*candidate, situation_.job_of(*candidate).hierarchy);
    if (good_kinds.count(kind) == 0 || !tried.emplace(kind, family).second) continue;
    auto way = prepare_way(*candidate, bytes);
    if (!way) continue;
    way->stores = default_stores(bytes);
    ways.push_back(std::move(*way));
  }
  if (ways.empty()) return false;
  if (options_.log_choice && rank_ == 0)
    log_line(fmt::format("{} ranks on {} nodes, {} bytes: more ways are tried", ranks_, situation_.job.nodes, bytes));
  const auto second = std::min_element(decision.others.begin(), decision.others.end(),
                                       [](const Way& one, const Way& other) { return one.seconds < other.seconds; });
  if (second != decision.others.end() && second->seconds <= close_second * decision.way.seconds) {
    ways.push_back(std::move(*second));
    decision.others.erase(second);
  }
  try_against_winner(decision, std::move(ways), bytes);
  return true;
}

/// Of a trial that has ended, the schedule that took the least time; null: none comes close to the winner.
const Context::Way* Context::best_schedule(const Decision& decision) {
  if (decision.way.path == Path::plan) return &decision.way;
  const Way* best = nullptr;
  for (const Way& other : decision.others)
    if (other.path == Path::plan && (best == nullptr || other.seconds < best->seconds)) best = &other;
  return best != nullptr && best->seconds <= close_kinds * decision.way.seconds ? best : nullptr;
}

/// How many slices of a vector on a device are best in flight depends on what its copies and its queue cost, which no
/// model tells: the best schedule is tried with half and with twice as many, and so on from the one that wins then.
/// False where there is nothing to try any more.
bool Context::try_depths(Decision& decision, std::size_t bytes) {
  const Way* const best = situation_.on_devices && options_.window == 0 ? best_schedule(decision) : nullptr;
  if (best == nullptr) return false;
  const auto is_tried = [&](const std::string& name) {
    return std::any_of(decision.others.begin(), decision.others.end(),
                       [&](const Way& way) { return way.name == name; });
  };
  tune::Way wanted = best->in_table;
  std::vector<Way> ways;
  for (const std::uint64_t window : tune::depths_beside(wanted.window, wanted.slice, bytes)) {
    wanted.window = window;
    auto candidate = tune::candidate_of(wanted, situation_, options_, tune::size_class(bytes));
    if (!candidate || is_tried(name_of(*candidate))) continue;
    candidate->long_slices = best->long_slices;
    auto way = prepare_way(*candidate, bytes);
    if (!way) continue;
    way->stores = best->stores;
    ways.push_back(std::move(*way));
  }
  if (ways.empty()) return false;
  try_against_winner(decision, std::move(ways), bytes);
  return true;
}

/// Between nodes, stores are not tried with every way, which would be too many, but with the schedule that won, of long
/// vectors: to write a line that a core which shares no cache has read takes twenty times as long as to write one that
/// none has. (16 ranks on four nodes with cards of 4 Gbit/s, 32 MiB, on two cores of an EPYC of family 25, model 17:
/// 195 ms where these share no cache, and 147 published around the caches; where they share one, 132 and 130.) False
/// where that was done.
bool Context::try_stores(Decision& decision, std::size_t bytes) {
  const Way& won = decision.way;
  if (situation_.job.nodes == 1 || situation_.job.ranks_per_node == 1 || situation_.on_devices) return false;
  if (won.path != Path::plan || bytes < few_ways_from) return false;
  if (std::any_of(decision.others.begin(), decision.others.end(),
                  [&](const Way& way) { return way.plan == won.plan && way.stores != won.stores; }))
    return false;
  Way other = won;
  other.tally = {};
  other.seconds = 0;
  other.stores.publish =
      won.stores.publish == kernel::Store::streaming ? kernel::Store::cached : kernel::Store::streaming;
  std::vector<Way> ways;
  ways.push_back(std::move(other));
  try_against_winner(decision, std::move(ways), bytes);
  return true;
}

/// The winner of a trial has its time already: it rests with that first.
void Context::try_against_winner(Decision& decision, std::vector<Way> ways, std::size_t bytes) {
  ways.push_back(std::exchange(decision.way, Way{}));
  begin_trial(decision, std::move(ways), bytes);
  decision.trial->trial.rest_first(decision.trial->ways.size() - 1, decision.trial->ways.back().seconds);
  begin_review(decision, bytes);
}

void Context::begin_trial(Decision& decision, std::vector<Way> ways, std::size_t bytes) {
  const std::size_t low = tune::bounds_of_class(tune::size_class(bytes)).first;
  tune::Trial trial(ways.size(), low, noise(), static_cast<double>(options_.trial) / 100);
  decision.trial.reset(new Probation{std::move(trial), std::move(ways), {}});
}

/// Of strata's own in one trial.
std::size_t Context::most_ways(std::size_t bytes) const {
  if (situation_.job.nodes == 1) return 2U + (situation_.plain ? 1 : 0) + (situation_.on_devices ? 2 : 0);
  return (bytes < few_ways_from ? 6U : 4U) + (situation_.on_devices ? 2 : 0);
}

} // namespace strata::comm
