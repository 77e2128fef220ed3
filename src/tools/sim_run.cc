// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sim.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::tools {
namespace {

std::size_t index_of(topo::LinkKind kind) { return static_cast<std::size_t>(kind); }

/// Messages inside groups of tier `tiers`: they cross at most the tiers below it.
tune::LinkParameters memory_parameters(const sim::Machine& machine, std::size_t tiers) {
  const sim::Link& outermost = machine.tiers[tiers - 1].link;
  double latency = 0;
  for (std::size_t tier = 0; tier < tiers; ++tier)
    latency += machine.tiers[tier].link.latency;
  return {latency, outermost.per_message, machine.core.copy_per_byte, outermost.read_per_byte,
          outermost.reduce_per_byte};
}

tune::Parameters parameters_of(const sim::Machine& machine) {
  tune::Parameters parameters = tune::default_parameters();
  const std::size_t memory = sim::memory_tiers(machine);
  if (memory > 0) {
    parameters.links[index_of(topo::LinkKind::shared_memory)] = memory_parameters(machine, memory);
    std::size_t in_cache = memory;
    for (std::size_t tier = 1; tier < memory; ++tier)
      if (machine.tiers[tier].name == "cache") in_cache = tier;
    parameters.links[index_of(topo::LinkKind::shared_cache)] = memory_parameters(machine, in_cache);
  }
  if (memory < machine.tiers.size()) {
    const sim::Link& link = machine.tiers[memory].link;
    parameters.links[index_of(topo::LinkKind::network)] = {
        link.latency,         link.per_message,      link.per_byte, link.read_per_byte,
        link.reduce_per_byte, machine.rank_per_byte, machine.gap};
  }
  if (memory + 1 < machine.tiers.size()) {
    const sim::Link &node = machine.tiers[memory].link, &rack = machine.tiers[memory + 1].link;
    parameters.links[index_of(topo::LinkKind::uplink)] = {
        node.latency + rack.latency, rack.per_message,      rack.per_byte, rack.read_per_byte,
        rack.reduce_per_byte,        machine.rank_per_byte, machine.gap};
  }
  // The simulator knows neither caches that a stage leaves its results in, nor the start of a slice.
  parameters.schedule_in_memory = 1;
  parameters.cache_share = machine.core.cache_bytes;
  parameters.beyond_cache_per_byte =
      machine.core.cache_bytes > 0 ? std::max(0.0, machine.core.beyond_per_byte - machine.core.copy_per_byte) : 0;
  parameters.step = machine.core.step;
  parameters.slice = 0;
  return parameters;
}

/// The compositions that strata would consider, with slices and windows, cheapest by the model first.
std::vector<tune::Candidate> candidates_of(const SimFlags& flags, const tune::Situation& situation, std::uint64_t bytes,
                                           const std::string& algorithm) {
  Options options;
  options.algorithm = algorithm;
  options.slice = flags.slice;
  options.window = flags.window;
  tune::Choice choice = tune::choose(situation, options, tune::size_class(bytes));
  std::vector<tune::Candidate> candidates{std::move(choice.chosen)};
  if (algorithm.empty()) candidates.insert(candidates.end(), choice.runners_up.begin(), choice.runners_up.end());
  return candidates;
}

/// Each once. Of one size: which compositions are considered does not depend on it.
std::vector<hier::Composition> compositions_of(const SimFlags& flags, const tune::Situation& situation) {
  if (!flags.compositions.empty()) return flags.compositions;
  std::vector<hier::Composition> compositions;
  for (const tune::Candidate& candidate : candidates_of(flags, situation, flags.sizes.front(), "")) {
    const auto same = [&](const hier::Composition& known) { return to_text(known) == to_text(candidate.composition); };
    if (std::none_of(compositions.begin(), compositions.end(), same)) compositions.push_back(candidate.composition);
  }
  return compositions;
}

/// That separate anything: of nodes, then of racks or pods.
std::ptrdiff_t network_tiers(const sim::Machine& machine) {
  return std::count_if(machine.tiers.begin(), machine.tiers.end(),
                       [](const sim::Tier& tier) { return tier.medium == sim::Medium::network && tier.groups > 1; });
}

/// What joins the racks is then the outermost level.
topo::Hierarchy with_uplinks(topo::Hierarchy hierarchy) {
  hierarchy.levels.back().link = topo::LinkKind::uplink;
  return hierarchy;
}

} // namespace

bool is_known_to_the_model(const sim::Machine& machine) { return network_tiers(machine) <= 2; }

tune::Situation situation_of(const sim::Machine& machine, const topo::Hierarchy& hierarchy) {
  const std::vector<topo::RankFacts> facts = sim::facts_of(machine);
  // A core for each rank.
  const std::vector<std::uint32_t> cores(facts.size(), static_cast<std::uint32_t>(machine.ranks));
  if (network_tiers(machine) != 2) return situation_of(machine, tune::shape_of(hierarchy, facts, cores));
  const tune::JobShape with_racks = tune::shape_of(with_uplinks(sim::hierarchy_of(machine)), facts, cores);
  if (hierarchy.levels.size() == with_racks.hierarchy.levels.size()) return situation_of(machine, with_racks);
  tune::JobShape plain = tune::shape_of(hierarchy, facts, cores);
  tune::note_racks(plain, with_racks);
  return situation_of(machine, std::move(plain));
}

tune::Situation situation_of(const sim::Machine& machine, tune::JobShape job) {
  tune::Situation situation;
  situation.job = std::move(job);
  situation.parameters = parameters_of(machine);
  situation.native_possible = false;
  situation.wire_bytes = tune::wire_bytes_for(0);
  return situation;
}

Result<std::vector<SimRow>> simulate_all(const SimFlags& flags) {
  const tune::Situation situation = situation_of(flags.machine, flags.hierarchy);
  std::vector<SimRow> rows;
  tune::Costs costs;
  for (const hier::Composition& composition : compositions_of(flags, situation)) {
    const hier::AllReduce schedule(flags.hierarchy, composition);
    const auto workload =
        sim::Workload::from(flags.machine.ranks, [&](std::int32_t rank) { return schedule.program(rank); });
    const std::string name = hier::to_text(composition);
    if (!workload) return Error{workload.error().kind, name + ": " + workload.error().message};
    for (const std::uint64_t bytes : flags.sizes) {
      const tune::Candidate candidate = candidates_of(flags, situation, bytes, name).front();
      SimRow row;
      row.bytes = static_cast<std::int64_t>(bytes);
      row.algorithm = name.empty() ? "copy" : name; // of one rank
      row.slice_bytes = static_cast<std::int64_t>(candidate.slice_bytes);
      row.window = candidate.window;
      if (is_known_to_the_model(flags.machine))
        row.predicted_seconds =
            tune::predict(situation.job, composition, bytes, candidate.slice_bytes, situation.parameters, costs)
                .seconds(candidate.window);
      auto outcome =
          sim::simulate(flags.machine, *workload,
                        {row.bytes, row.slice_bytes, row.window, simulated_element_bytes, !flags.trace_file.empty()});
      if (!outcome)
        return Error{outcome.error().kind, fmt::format("{}, {} bytes: {}", name, bytes, outcome.error().message)};
      row.outcome = std::move(*outcome);
      rows.push_back(std::move(row));
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const SimRow& a, const SimRow& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.outcome.seconds < b.outcome.seconds;
  });
  return rows;
}

} // namespace strata::tools
