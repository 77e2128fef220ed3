// SPDX-License-Identifier: BSD-3-Clause
// Machines and programs for the tests of the simulator: numbers that a reader can add up.
#pragma once

#include "hier/composition.h"
#include "sched/builder.h"
#include "sim/simulator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace strata::sim_machines {

/// Nodes whose links take 1 ns a byte and 10 us on the way, and cores that take no time at all.
inline const std::string free_core =
    "(latency=0s, message=0s, copy=unlimited, read=unlimited, reduce=unlimited, step=0s)";

inline std::string free_nodes(int nodes, int cores) {
  return "node:" + std::to_string(nodes) +
         "(uplink=1GB/s, latency=10us, message=0s, read=unlimited, reduce=unlimited) core:" + std::to_string(cores) +
         free_core;
}

inline sim::Machine machine(const std::string& text, sim::Mapping mapping = {}) {
  const auto line = sim::machine_line_from(text);
  EXPECT_TRUE(line) << line.error().message;
  return line ? sim::machine_from(*line, mapping) : sim::Machine{};
}

/// A program for each rank, written by a function.
using Writer = std::function<void(sched::ProgramBuilder&)>;
inline Result<sim::Workload> workload(int ranks, const Writer& write) {
  return sim::Workload::from(ranks, [&](std::int32_t rank) {
    sched::ProgramBuilder builder(rank, ranks);
    write(builder);
    return std::move(builder).finish();
  });
}

inline Result<sim::Workload> workload(const topo::Hierarchy& hierarchy, const hier::Composition& composition) {
  const hier::AllReduce all_reduce(hierarchy, composition);
  return sim::Workload::from(hierarchy.ranks, [&](std::int32_t rank) { return all_reduce.program(rank); });
}

/// `slices` equal ones, all in flight unless a window is given.
inline sim::Load load(std::int64_t bytes, int slices = 1, std::uint32_t window = 0) {
  sim::Load made;
  made.bytes = bytes;
  made.slice_bytes = std::max<std::int64_t>(1, bytes / slices);
  made.window = window == 0 ? static_cast<std::uint32_t>(slices) : window;
  made.with_timeline = true;
  return made;
}

/// Times of zero if it fails.
inline sim::Outcome run(const sim::Machine& machine, const Result<sim::Workload>& workload, const sim::Load& load) {
  sim::Outcome none;
  none.finish.resize(static_cast<std::size_t>(machine.ranks));
  none.core_busy.resize(none.finish.size());
  none.level_bytes.resize(machine.tiers.size());
  EXPECT_TRUE(workload) << workload.error().message;
  if (!workload) return none;
  auto outcome = sim::simulate(machine, *workload, load);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome ? *outcome : none;
}

/// Times in tests: microseconds, to a picosecond.
inline void expect_microseconds(double seconds, double microseconds) { EXPECT_NEAR(seconds * 1e6, microseconds, 1e-6); }

} // namespace strata::sim_machines
