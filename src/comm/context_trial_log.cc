// SPDX-License-Identifier: BSD-3-Clause
// What trials and reviews have found, for STRATA_LOG=choice.
#include "comm/context.h"

#include "base/log.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace strata::comm {
namespace {

const char* text_of(kernel::Stores stores) {
  if (stores.publish == kernel::Store::demoted) return ", published through to shared caches";
  const bool published = stores.publish == kernel::Store::streaming;
  if (stores.result == kernel::Store::streaming)
    return published ? ", stores around the caches" : ", results around the caches";
  return published ? ", published around the caches" : "";
}

constexpr std::size_t most_ways_told = 5;

/// "board (1.2 us); then direct slice 128K window 4 (3.4 us), native (5.6 us)", with `what` behind each time. The MPI
/// library's own way is told wherever it stands.
std::string ranking(const auto& ways, const std::vector<std::size_t>& order, const std::vector<double>& seconds,
                    const char* what) {
  std::string text;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto& way = ways[order[place]];
    if (place >= most_ways_told && way.name != "native") continue;
    text += fmt::format("{}{}{} ({}{})",
                        place == 0   ? ""
                        : place == 1 ? "; then "
                                     : ", ",
                        way.name, text_of(way.stores), format_duration(seconds[order[place]]), what);
  }
  return text;
}

} // namespace

/// A program may end, or free a communicator, before it has made the calls that a trial takes.
void Context::log_open_trials() const {
  if (!options_.log_choice || rank_ != 0) return;
  for (std::size_t index = 0; index < decisions_.size(); ++index) {
    if (!decisions_[index].trial) continue;
    const Probation& probation = *decisions_[index].trial;
    std::uint64_t calls = 0;
    std::string tried;
    for (const Way& way : probation.ways) {
      calls += way.tally.calls;
      if (way.tally.calls > 0) tried += fmt::format("{}{}{}", tried.empty() ? "" : ", ", way.name, text_of(way.stores));
    }
    const auto [low, high] = tune::bounds_of_class(index);
    const Way& ahead = probation.ways[probation.trial.ahead()];
    const std::string known =
        probation.trial.has_compared()
            ? "so far " + ranking(probation.ways, first_then_by_time(probation, probation.trial.ahead()),
                                  probation.trial.agreed_times(), "")
        : probation.trial.rests() ? fmt::format("so far {} ({})", ahead.name, format_duration(ahead.seconds))
                                  : "which tried " + tried;
    log_line(fmt::format("{} ranks on {} nodes, {} to {} bytes: not decided after {} calls, {}", ranks_,
                         situation_.job.nodes, low, high, calls, known));
  }
}

/// A way that was dropped early may have looked faster then than the one that is ahead, or has won.
std::vector<std::size_t> Context::first_then_by_time(const Probation& probation, std::size_t first) {
  const std::vector<double>& seconds = probation.trial.agreed_times();
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::swap(order.front(), order[first]);
  std::stable_sort(order.begin() + 1, order.end(),
                   [&](std::size_t a, std::size_t b) { return seconds[a] < seconds[b]; });
  return order;
}

void Context::log_trial(const Probation& probation, std::size_t bytes) {
  const auto [low, high] = tune::bounds_of_class(tune::size_class(bytes));
  log_line(fmt::format("{} ranks on {} nodes, {} to {} bytes: {}", ranks_, situation_.job.nodes, low, high,
                       ranking(probation.ways, first_then_by_time(probation, probation.trial.way()),
                               probation.trial.agreed_times(), " measured")));
}

/// Of what was looked at last, before all ways are tried anew.
void Context::log_change(Decision& decision, double seconds, std::size_t bytes) const {
  const Review& review = *decision.review;
  const Way& way = watched_way(decision);
  const double before = review.rival ? review.seconds_since_rival : way.seconds;
  log_line(fmt::format("{} ranks on {} nodes, {} bytes: {} takes {} {} {}; all ways are tried anew", ranks_,
                       situation_.job.nodes, bytes, way.name, format_duration(seconds),
                       review.rival ? "with other stores, not" : "instead of", format_duration(before)));
}

} // namespace strata::comm
