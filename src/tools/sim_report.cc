// SPDX-License-Identifier: BSD-3-Clause
#include "base/options.h"
#include "tools/sim.h"

#include "config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata::tools {
namespace {

using nlohmann::json;

std::string microseconds(double seconds) {
  const double value = seconds * 1e6;
  return fmt::format("{:.{}f}", value, value < 100 ? 2 : value < 10000 ? 1 : 0);
}

/// "2.41", "118": as many digits as tell something.
std::string times(double ratio) { return fmt::format("{:.{}f}", ratio, ratio < 100 ? 2 : 0); }

std::string or_dash(bool there, const std::string& text) { return there ? text : "-"; }

std::int32_t nodes_in(const sim::Machine& machine) {
  const auto nodes = sim::nodes_of(machine);
  return *std::max_element(nodes.begin(), nodes.end()) + 1;
}

json rate_json(double per_byte) { return per_byte > 0 ? json(1 / per_byte) : json(nullptr); }

json tiers_json(const sim::Machine& machine) {
  json tiers = json::array();
  for (auto tier = machine.tiers.rbegin(); tier != machine.tiers.rend(); ++tier)
    tiers.push_back({{"name", tier->name},
                     {"medium", tier->medium == sim::Medium::memory ? "memory" : "network"},
                     {"groups", tier->groups},
                     {"latency_seconds", tier->link.latency},
                     {"message_seconds", tier->link.per_message},
                     {"uplink_bytes_per_second", rate_json(tier->link.per_byte)},
                     {"read_bytes_per_second", rate_json(tier->link.read_per_byte)},
                     {"reduce_bytes_per_second", rate_json(tier->link.reduce_per_byte)}});
  return tiers;
}

/// What went over the uplinks of each tier, in all and over the busiest.
json traffic_json(const sim::Machine& machine, const sim::Outcome& outcome) {
  json traffic = json::array();
  for (std::size_t tier = machine.tiers.size(); tier-- > 0;) {
    std::int64_t up = 0, down = 0;
    double busiest = 0;
    for (const sim::Use& use : outcome.uses) {
      const bool is_up = use.place.kind == sim::Place::Kind::up;
      if (use.place.tier != tier || (!is_up && use.place.kind != sim::Place::Kind::down)) continue;
      (is_up ? up : down) += use.bytes;
      busiest = std::max(busiest, use.busy);
    }
    traffic.push_back(
        {{"tier", machine.tiers[tier].name}, {"bytes_up", up}, {"bytes_down", down}, {"busiest_seconds", busiest}});
  }
  return traffic;
}

json row_json(const SimFlags& flags, const SimRow& row) {
  const sim::Outcome& outcome = row.outcome;
  const double bound = sim::bound_of(flags.machine, row.bytes);
  const Bottleneck busiest = bottleneck_of(flags.machine, outcome);
  return {{"bytes", row.bytes},
          {"algorithm", row.algorithm},
          {"slice_bytes", row.slice_bytes},
          {"window", row.window},
          {"slices", outcome.slices},
          {"seconds", outcome.seconds},
          {"first_finish_seconds", *std::min_element(outcome.finish.begin(), outcome.finish.end())},
          {"model_seconds", row.predicted_seconds ? json(*row.predicted_seconds) : json(nullptr)},
          {"bound_seconds", bound > 0 ? json(bound) : json(nullptr)},
          {"ratio_to_bound", bound > 0 ? json(outcome.seconds / bound) : json(nullptr)},
          {"busiest",
           {{"name", busiest.name},
            {"busy_seconds", busiest.busy},
            {"use", outcome.seconds > 0 ? busiest.busy / outcome.seconds : 0}}},
          {"level_bytes", outcome.level_bytes},
          {"traffic", traffic_json(flags.machine, outcome)}};
}

} // namespace

Bottleneck bottleneck_of(const sim::Machine& machine, const sim::Outcome& outcome) {
  if (const sim::Use* use = outcome.busiest()) return {sim::to_text(machine, use->place), use->busy};
  const auto core = std::max_element(outcome.core_busy.begin(), outcome.core_busy.end());
  return {fmt::format("core of rank {}", core - outcome.core_busy.begin()), *core};
}

std::string table_of(const SimFlags& flags, const std::vector<SimRow>& rows) {
  const std::int32_t nodes = nodes_in(flags.machine);
  std::string text =
      fmt::format("# strata-sim {}: {}\n# allreduce of float32, {} ranks on {} {}, mapping {}\n", PACKAGE_VERSION,
                  flags.machine_text, flags.machine.ranks, nodes, nodes == 1 ? "node" : "nodes", flags.mapping);
  text += fmt::format("#{:>9} {:>11} {:>11} {:>11} {:>7} {:>5}  {:<18} {}\n", "bytes", "sim us", "model us", "bound us",
                      "ratio", "use", "busiest", "algorithm");
  for (const SimRow& row : rows) {
    const double seconds = row.outcome.seconds, bound = sim::bound_of(flags.machine, row.bytes);
    const Bottleneck busiest = bottleneck_of(flags.machine, row.outcome);
    text += fmt::format("{:>10} {:>11} {:>11} {:>11} {:>7} {:>4.0f}%  {:<18} {} slice {} window {}\n",
                        format_bytes(static_cast<std::uint64_t>(row.bytes)), microseconds(seconds),
                        or_dash(row.predicted_seconds.has_value(), microseconds(row.predicted_seconds.value_or(0))),
                        or_dash(bound > 0, microseconds(bound)), or_dash(bound > 0, times(seconds / bound)),
                        seconds > 0 ? 100 * busiest.busy / seconds : 0, busiest.name, row.algorithm,
                        format_bytes(static_cast<std::uint64_t>(row.slice_bytes)), row.window);
  }
  return text;
}

std::string document_of(const SimFlags& flags, const std::vector<SimRow>& rows) {
  json document = {{"tool", "strata-sim"},
                   {"version", PACKAGE_VERSION},
                   {"collective", "allreduce"},
                   {"type", "float32"},
                   {"machine", flags.machine_text},
                   {"mapping", flags.mapping},
                   {"ranks", flags.machine.ranks},
                   {"nodes", nodes_in(flags.machine)},
                   {"tiers", tiers_json(flags.machine)},
                   {"core",
                    {{"copy_bytes_per_second", rate_json(flags.machine.core.copy_per_byte)},
                     {"reduce_bytes_per_second", rate_json(flags.machine.core.reduce_per_byte)},
                     {"step_seconds", flags.machine.core.step}}},
                   {"memory_bytes_per_second", rate_json(flags.machine.memory_per_byte)},
                   {"rank_bytes_per_second", rate_json(flags.machine.rank_per_byte)},
                   {"gap_seconds", flags.machine.gap},
                   {"rows", json::array()}};
  for (const SimRow& row : rows)
    document["rows"].push_back(row_json(flags, row));
  return document.dump(2) + "\n";
}

} // namespace strata::tools
