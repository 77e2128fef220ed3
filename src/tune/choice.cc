// SPDX-License-Identifier: BSD-3-Clause
#include "tune/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>

namespace strata::tune {
namespace {

constexpr std::size_t smallest_slice = 4096;

// Whether stores around the caches pay depends on which caches the ranks' cores share, which a virtual machine does
// not tell and may change: 64 KiB written and read took 6.2 us instead of 8.8 where two cores shared a cache, 6.9
// instead of 33 where they did not, on another processor 24 instead of 12. Below these sizes the fence costs more. In
// us on the latency path between cores of an EPYC of family 25, model 17, that share no cache, without and with it
// (between cores that share one, 2 KiB take 0.22 and 0.65 to 0.72):
//     512 B   0.38 0.67      1 KiB   0.75 0.71      2 KiB   1.02 0.85      4 KiB   2.1 1.1      16 KiB   9.5 2.8
constexpr std::size_t publish_around_from = std::size_t{8} << 10, publish_on_board_around_from = std::size_t{2} << 10;
constexpr std::size_t results_around_from = std::size_t{64} << 10;
/// Results that no cache keeps until they are read.
constexpr std::size_t results_always_around_from = std::size_t{16} << 20;

/// Slices in flight, and what they may take together.
constexpr std::uint32_t deepest = 16;
constexpr std::size_t most_in_flight = std::size_t{8} << 20;

/// Where ranks share cores, each step of a slice waits for another rank's turn on a core: few long slices take less
/// time than many short ones, as long as the caches hold the slots of all ranks. In us, 3, 4, 8 and 16 ranks on two
/// cores of an EPYC of family 25, model 17, that share a cache, direct, by slice and window:
///     vector   128K 4             256K 4            512K 2                512K 1                 1M 2
///     512 KiB  99, 92, 205        -, 92, 205        87, 87, 200, 876      91, 86, 186, 632       85, 92, 201
///     1 MiB    202, 190, 466      -, 172, 493       167, 173, 473, 2200   182, 180, 437, 1720    165, 176, 574
///     2 MiB    424, 415, 1380     -, 390, 1276      345, 373, 1243, 4500  394, 393, 1230, 3760   334, 410, 1597
///     16 MiB   5644, 5640, 11600  -, 5290, 10900    4935, 5220, 10650     5290, 5450, 10900      4850, 5250, 11300
/// Two ranks on one core take the same with all of them.
constexpr std::size_t slice_of_shared_cores = std::size_t{512} << 10, most_of_slots = std::size_t{5} << 20;

std::uint32_t window_in_memory(const JobShape& job, std::size_t slice) {
  if (job.crowding <= 1 || slice < slice_of_shared_cores) return 4;
  return static_cast<std::size_t>(job.hierarchy.ranks) * slice * 2 <= most_of_slots ? 2 : 1;
}

/// The size that stands for a class.
std::size_t middle_of_class(std::size_t index) {
  const auto [low, high] = bounds_of_class(index);
  return low + (high - low) / 2;
}

bool is_cheaper(const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; }

/// Slice sizes worth trying, for a composition.
std::vector<std::size_t> slice_sizes(const Situation& situation, const JobShape& job,
                                     const hier::Composition& composition, std::uint64_t forced) {
  if (forced != 0) return {static_cast<std::size_t>(forced)};
  if (job.nodes > 1) {
    // Wire messages of the best size: a slice is cut by the members of every level that scatters.
    std::size_t parts = 1;
    for (std::size_t l = 0; l < composition.levels.size(); ++l)
      if (composition.levels[l].shape == hier::Shape::scatter) parts *= static_cast<std::size_t>(job.members[l]);
    const std::size_t wire = situation.wire_bytes != 0 ? situation.wire_bytes : std::size_t{256} << 10;
    return {std::max(smallest_slice, parts * wire)};
  }
  // In memory the ring of slices should stay in the caches.
  std::vector<std::size_t> sizes;
  const bool few = job.hierarchy.ranks <= 2;
  for (std::size_t size = few ? std::size_t{128} << 10 : std::size_t{32} << 10;
       size <= (few ? std::size_t{256} << 10 : std::size_t{128} << 10); size *= 2)
    sizes.push_back(size);
  if (!few && job.crowding > 1 && !situation.on_devices) sizes.push_back(slice_of_shared_cores);
  return sizes;
}

constexpr std::size_t least_long_slice = std::size_t{256} << 10;

/// The same, beside those, for vectors in device memory: a step of a slice is a piece of work in a queue there, which
/// takes some microseconds however short it is, and no cache is to be kept. Few slices, or some more to overlap them.
std::vector<std::size_t> long_slice_sizes(const Situation& situation, std::size_t bytes, std::uint64_t forced) {
  constexpr std::size_t most = std::size_t{8} << 20; // a plan takes several of them, in memory of three kinds
  if (forced != 0 || !situation.on_devices || bytes <= least_long_slice) return {};
  const auto part = [&](std::size_t parts) { return std::clamp(std::bit_ceil(bytes / parts), least_long_slice, most); };
  const std::size_t few = part(4), more = part(16);
  if (few == more) return {few};
  return {few, more};
}

/// How many slices may be in flight. Of few the model does not tell: more of them than a link wants only queue up in
/// front of each other (6 nodes of 2 ranks, 1 Gbit/s, 32 MiB: 490 ms with 2, 480 to 519 with 4). A long way, as over a
/// tree of many nodes, wants more.
std::vector<std::uint32_t> windows(const Situation& situation, std::size_t bytes, std::size_t slice,
                                   const Prediction& prediction, std::uint64_t forced) {
  if (forced != 0) return {static_cast<std::uint32_t>(forced)};
  if (situation.job.nodes == 1) return {window_in_memory(situation.job, slice)};
  if (bytes <= 2 * slice) return {4};
  std::vector<std::uint32_t> depths{2, 4};
  for (std::uint32_t next = 8; next <= deepest && next * slice <= most_in_flight && next / 2 < prediction.slices &&
                               next / 2 * prediction.slowest < prediction.first;
       next *= 2)
    depths.push_back(next);
  return depths;
}

/// Of long slices: one is on the way while the next one begins.
std::vector<std::uint32_t> few_windows(std::uint64_t forced) {
  return {forced != 0 ? static_cast<std::uint32_t>(forced) : 2};
}

void add_composition(std::vector<Candidate>& candidates, const Situation& situation, const Options& options,
                     const hier::Composition& composition, std::size_t bytes, Costs& costs, bool plain = false) {
  const JobShape& job = plain ? *situation.plain : situation.job;
  std::vector<std::size_t> sizes = slice_sizes(situation, job, composition, options.slice);
  const std::vector<std::size_t> usual = sizes;
  if (!plain)
    for (const std::size_t slice : long_slice_sizes(situation, bytes, options.slice))
      if (std::find(sizes.begin(), sizes.end(), slice) == sizes.end()) sizes.push_back(slice);
  for (const std::size_t slice : sizes) {
    const bool is_asked_for = options.slice != 0 && situation.on_devices && slice >= least_long_slice;
    const bool is_long = is_asked_for || std::find(usual.begin(), usual.end(), slice) == usual.end();
    const Prediction prediction = predict(job, composition, bytes, slice, situation.parameters, costs);
    for (std::uint32_t window :
         is_long ? few_windows(options.window) : windows(situation, bytes, slice, prediction, options.window)) {
      Candidate candidate;
      candidate.kind = Candidate::Kind::schedule;
      candidate.composition = composition;
      candidate.plain = plain;
      candidate.long_slices = is_long;
      candidate.slice_bytes = slice;
      candidate.window = window;
      candidate.seconds = prediction.seconds(window);
      candidates.push_back(std::move(candidate));
    }
  }
}

/// Whether an algorithm's all-reduce is its reduce-scatter and all-gather again: then scatter says the same, and
/// cuts slices by the messages that really go out.
bool is_scatter_in_one_go(const coll::Algorithm& row, int members, Costs& costs) {
  if (!row.reduce_scatter || !row.all_gather || !row.all_reduce) return false;
  return costs.of(row.all_reduce, members).rounds >=
         costs.of(row.reduce_scatter, members).rounds + costs.of(row.all_gather, members).rounds;
}

/// Whether the model cannot tell two plans of a level apart: all counts are equal, but for rounding.
bool are_alike(const hier::LevelPlan& a, const hier::LevelPlan& b, int members, Costs& costs) {
  if (a.shape != b.shape) return false;
  const auto forms_of_a = hier::forms_of(a), forms_of_b = hier::forms_of(b);
  using coll::Cost;
  for (std::size_t form = 0; form < forms_of_a.size(); ++form) {
    const Cost &one = costs.of(*forms_of_a[form], members), &other = costs.of(*forms_of_b[form], members);
    for (auto count : {&Cost::rounds, &Cost::messages, &Cost::sent, &Cost::published, &Cost::received, &Cost::reduced,
                       &Cost::copied, &Cost::chain_messages, &Cost::chain})
      if (std::abs(one.*count - other.*count) > 1e-9) return false;
  }
  return true;
}

/// That a member sends for a slice. Of more, the model does not know what their steps, queues and connections take, and
/// a plan should take no longer than a call. Others have a few for each doubling of the members.
constexpr double most_messages = 4096;
double messages_of(const hier::LevelPlan& plan, int members, Costs& costs) {
  double messages = 0;
  for (const coll::Form* form : hier::forms_of(plan))
    messages += costs.of(*form, members).messages;
  return messages;
}

/// Every algorithm and shape for the outermost level, but only the first of those that are alike: with two members
/// nearly all are, and a trial has better to do than to try the same thing under several names.
std::vector<hier::LevelPlan> outermost_plans(int members, bool in_rank_order, Costs& costs) {
  std::vector<hier::LevelPlan> plans;
  for (const coll::Algorithm& row : coll::registry()) {
    if (in_rank_order && &row != coll::find("direct")) continue;
    for (const hier::Shape shape : {hier::Shape::scatter, hier::Shape::exchange}) {
      const hier::LevelPlan plan{&row, shape};
      const auto forms = hier::forms_of(plan);
      if (!std::all_of(forms.begin(), forms.end(), [](const coll::Form* form) { return bool(*form); })) continue;
      if (shape == hier::Shape::exchange && is_scatter_in_one_go(row, members, costs)) continue;
      if (!in_rank_order && messages_of(plan, members, costs) > most_messages) continue;
      const auto like_this = [&](const hier::LevelPlan& earlier) { return are_alike(earlier, plan, members, costs); };
      if (std::none_of(plans.begin(), plans.end(), like_this)) plans.push_back(plan);
    }
  }
  return plans;
}

/// Inner levels of one shape, and every plan of the outermost: as many as there are plans, or twice as many, however
/// many levels there are. `in_rank_order`: only algorithms that reduce all contributions at once, in the order of the
/// ranks (the hierarchy is flat then).
std::vector<hier::Composition> compositions(const JobShape& job, bool in_rank_order, Costs& costs) {
  const std::size_t levels = job.hierarchy.levels.size();
  if (levels == 0) return {hier::Composition{}}; // a rank alone copies
  std::vector<hier::Composition> all;
  const auto plans = outermost_plans(job.members.back(), in_rank_order, costs);
  for (const hier::Shape inner : {hier::Shape::scatter, hier::Shape::leader}) {
    for (const hier::LevelPlan& outermost : plans) {
      hier::Composition composition;
      composition.levels.assign(levels - 1, {coll::find("direct"), inner});
      composition.levels.push_back(outermost);
      all.push_back(std::move(composition));
    }
    if (levels == 1) break; // no inner level
  }
  return all;
}

} // namespace

std::vector<std::uint64_t> depths_beside(std::uint64_t window, std::size_t slice_bytes, std::size_t bytes) {
  const std::size_t slices = bytes / slice_bytes + (bytes % slice_bytes != 0 ? 1 : 0);
  const std::uint64_t half = window / 2, twice = 2 * window;
  std::vector<std::uint64_t> depths;
  if (half > 0 && half < slices) depths.push_back(half);
  if (window < slices && twice <= deepest && twice * slice_bytes <= most_in_flight) depths.push_back(twice);
  return depths;
}

std::string Candidate::name() const {
  switch (kind) {
  case Kind::native:
    return "native";
  case Kind::board:
    return "board";
  case Kind::schedule:
    return fmt::format("{} slice {} window {}", hier::to_text(composition), format_bytes(slice_bytes), window);
  }
  return "?";
}

std::vector<Around> stores_to_try(const Situation& situation, Candidate::Kind kind, std::size_t bytes) {
  if (bytes < publish_around_from) {
    std::vector<Around> stores{Around::nothing};
    if (kind != Candidate::Kind::board) return stores;
    if (situation.can_demote && !situation.on_devices) stores.push_back(Around::demoted);
    if (bytes >= publish_on_board_around_from) stores.push_back(Around::published);
    return stores;
  }
  if (bytes < results_around_from) return {Around::nothing, Around::published};
  if (bytes < results_always_around_from) return {Around::nothing, Around::results, Around::published, Around::both};
  return {Around::results, Around::both};
}

std::size_t size_class(std::size_t bytes) {
  if (bytes < 4) return bytes;
  const auto octave = static_cast<std::size_t>(std::bit_width(bytes)) - 1;
  return 4 * octave + ((bytes >> (octave - 2)) & 3);
}

std::pair<std::size_t, std::size_t> bounds_of_class(std::size_t index) {
  if (index < 8) return {index, index};
  const std::size_t octave = index / 4;
  const auto bound = [&](std::size_t quarter) { return (std::size_t{1} << octave) + (quarter << (octave - 2)); };
  return {bound(index % 4), bound(index % 4 + 1) - 1};
}

std::size_t wire_bytes_for(std::size_t eager_limit) {
  constexpr std::size_t best = std::size_t{24} << 10;
  return eager_limit == 0 ? best : std::min(best, eager_limit / 2);
}

Candidate best_with(const hier::Composition& composition, bool plain, const Situation& situation,
                    const Options& options, std::size_t index) {
  std::vector<Candidate> candidates;
  Costs costs;
  add_composition(candidates, situation, options, composition, middle_of_class(index), costs, plain);
  return std::move(*std::min_element(candidates.begin(), candidates.end(), is_cheaper));
}

Candidate board_candidate(const Situation& situation, std::size_t index) {
  Candidate board;
  board.kind = Candidate::Kind::board;
  board.seconds = predict_board(situation.job, middle_of_class(index), situation.parameters);
  return board;
}

Candidate native_candidate(const Situation& situation, std::size_t index) {
  Candidate native;
  native.seconds = predict_native(situation.job, middle_of_class(index), situation.parameters);
  return native;
}

bool native_is_a_candidate(const Situation& situation, const Options& options) {
  if (situation.native_is_refused && options.algorithm != "native") return false;
  return situation.native_possible && options.mode != Mode::always;
}

Choice choose(const Situation& situation, const Options& options, std::size_t index) {
  Choice choice;
  const std::size_t bytes = middle_of_class(index);
  std::vector<Candidate> candidates;
  Costs costs;
  const bool forced = !options.algorithm.empty();
  if (forced && options.algorithm != "native" && options.algorithm != "board") {
    auto composition = hier::composition_from(options.algorithm, situation.job.hierarchy);
    if (composition)
      add_composition(candidates, situation, options, *composition, bytes, costs);
    else
      choice.note =
          fmt::format("STRATA_ALGORITHM={} is not possible here: {}", options.algorithm, composition.error().message);
  }
  if (candidates.empty()) {
    for (const hier::Composition& composition : compositions(situation.job, options.reproducible, costs))
      add_composition(candidates, situation, options, composition, bytes, costs);
    if (situation.plain)
      for (const hier::Composition& composition : compositions(*situation.plain, options.reproducible, costs))
        add_composition(candidates, situation, options, composition, bytes, costs, true);
    if (situation.board_possible) candidates.push_back(board_candidate(situation, index));
  }
  if (native_is_a_candidate(situation, options)) candidates.push_back(native_candidate(situation, index));
  std::stable_sort(candidates.begin(), candidates.end(), is_cheaper);
  const auto is_wanted = [&](const Candidate& candidate) {
    if (options.algorithm == "native") return candidate.kind == Candidate::Kind::native;
    if (options.algorithm == "board") return candidate.kind == Candidate::Kind::board;
    return forced && candidate.kind == Candidate::Kind::schedule && choice.note.empty();
  };
  const auto wanted = std::find_if(candidates.begin(), candidates.end(), is_wanted);
  if (wanted != candidates.end()) std::rotate(candidates.begin(), wanted, wanted + 1);
  choice.chosen = candidates.front();
  choice.runners_up.assign(candidates.begin() + 1, candidates.end());
  return choice;
}

} // namespace strata::tune
