// SPDX-License-Identifier: BSD-3-Clause
// Real schedules in the simulator: no byte is lost, no bound undercut, every run the same.
#include "hierarchies.h"
#include "sim_machines.h"

#include <fmt/format.h>

namespace strata::sim {
namespace {

using namespace sim_machines;

/// What the programs say that is sent, by level, when a vector runs in these slices.
std::vector<std::int64_t> bytes_by_level(const std::vector<sched::Program>& programs, const Load& load,
                                         std::int32_t slices) {
  std::vector<std::int64_t> bytes;
  const std::int64_t elements = load.bytes / load.element_bytes;
  const std::int64_t usual = (elements + slices - 1) / slices;
  for (std::int32_t slice = 0; slice < slices; ++slice)
    for (const sched::Program& program : programs)
      for (const sched::Step& step : program.steps) {
        const std::int64_t here = slice + 1 < slices ? usual : elements - usual * slice;
        const std::int64_t length = sched::element_at(step.range.end, here) - sched::element_at(step.range.begin, here);
        if (length == 0 || step.peers.empty()) continue;
        if (bytes.size() <= step.tag.level) bytes.resize(step.tag.level + std::size_t{1});
        bytes[step.tag.level] += length * load.element_bytes * static_cast<std::int64_t>(step.peers.size());
      }
  return bytes;
}

/// Bytes that entered and left the groups of a tier.
std::pair<std::int64_t, std::int64_t> crossing(const Outcome& outcome, std::size_t tier) {
  std::pair<std::int64_t, std::int64_t> bytes;
  for (const Use& use : outcome.uses) {
    if (use.place.tier != tier) continue;
    if (use.place.kind == Place::Kind::up) bytes.first += use.bytes;
    if (use.place.kind == Place::Kind::down) bytes.second += use.bytes;
  }
  return bytes;
}

TEST(SimulatedSchedules, MoveTheBytesOfTheirProgramsAndNoMore) {
  const Machine uneven = machine("rack:2(uplink=1GB/s) node:3 core:3 ranks=13", {Mapping::Kind::random, 5});
  const topo::Hierarchy hierarchy = hierarchy_of(uneven);
  std::mt19937 random(1);
  for (const hier::Composition& composition : hierarchies::some_compositions(hierarchy.levels.size(), 10, random)) {
    const auto programs = hierarchies::programs(hierarchy, composition);
    const auto flat = workload(hierarchy, composition);
    for (const std::int64_t bytes : {8, 4000, 20000})
      for (const std::int64_t slice : {64, 4096, 1 << 20}) {
        Load some = load(bytes);
        some.slice_bytes = slice;
        some.window = 3;
        some.element_bytes = 4;
        const Outcome seen = run(uneven, flat, some);
        EXPECT_EQ(seen.level_bytes, bytes_by_level(programs, some, seen.slices))
            << hier::to_text(composition) << ", " << bytes << " bytes in slices of " << slice;
        EXPECT_GE(seen.seconds, bound_of(uneven, bytes) * 0.999) << hier::to_text(composition);
        const auto [up, down] = crossing(seen, 1);
        EXPECT_EQ(up, down);
        EXPECT_EQ(up, seen.level_bytes[1] + seen.level_bytes[2]) << hier::to_text(composition);
      }
  }
}

TEST(SimulatedSchedules, LoseNoByteWhenThereAreMoreSlices) {
  const Machine two_by_three = machine("node:3 core:2");
  const topo::Hierarchy hierarchy = hierarchy_of(two_by_three);
  const auto flat = workload(hierarchy, *hier::composition_from("direct+ring", hierarchy));
  const std::int64_t bytes = 123457;
  for (const int slices : {1, 2, 3, 17, 100, 5000}) {
    const Outcome seen = run(two_by_three, flat, load(bytes, slices, 4));
    EXPECT_GE(seen.slices, slices);
    // Each of 3 nodes: 2(2-1) vectors in memory; each of 2 rails, half a vector: 2(3-1) of them between nodes.
    EXPECT_EQ(seen.level_bytes, (std::vector<std::int64_t>{3 * 2 * bytes, 2 * 2 * bytes})) << slices;
  }
}

TEST(SimulatedSchedules, TakeTheTimeOfTheThinUplinkWhenItIsTheBottleneck) {
  const Machine racks = machine("rack:2(uplink=0.5GB/s, latency=2us) node:4(uplink=10GB/s, latency=5us) core:4");
  const topo::Hierarchy hierarchy = hierarchy_of(racks);
  const auto flat = workload(hierarchy, *hier::composition_from("direct", hierarchy));
  const std::int64_t bytes = 32000000;
  const double bound = bound_of(racks, bytes);
  expect_microseconds(bound, 64000); // the whole vector crosses the uplink, each way
  const Outcome seen = run(racks, flat, load(bytes, 64, 6));
  EXPECT_GE(seen.seconds, bound);
  EXPECT_LE(seen.seconds, bound * 1.05); // the pipeline fills in about two slices of 64
  ASSERT_NE(seen.busiest(), nullptr);
  EXPECT_EQ(seen.busiest()->place.tier, 2U);
  EXPECT_NEAR(seen.busiest()->busy, bound, bound * 1e-9);
  const Outcome in_one = run(racks, flat, load(bytes, 1));
  EXPECT_GT(in_one.seconds, seen.seconds * 1.05) << "slices must overlap the levels";
}

TEST(SimulatedSchedules, AreFasterAlongTheHierarchyThanAcrossIt) {
  const Machine by_node = machine("node:4 core:4", {Mapping::Kind::node, 0});
  const topo::Hierarchy hierarchy = hierarchy_of(by_node);
  const std::vector<topo::RankFacts> facts(16);
  const topo::Hierarchy flat = topo::flat_hierarchy(facts);
  const std::int64_t bytes = 8 << 20;
  const Outcome along =
      run(by_node, workload(hierarchy, *hier::composition_from("direct", hierarchy)), load(bytes, 16, 4));
  const Outcome across = run(by_node, workload(flat, *hier::composition_from("ring", flat)), load(bytes, 16, 4));
  EXPECT_GT(across.seconds, 3 * along.seconds); // all ranks of a node have their successor on another node
}

// Whatever comes at one time is decided by rank, slice and step, never by where it stands in memory or in a queue: so a
// run is the same on every machine.
TEST(SimulatedSchedules, BeginWhatComesAtOneTimeInTheOrderOfTheRanks) {
  const Machine alike = machine("node:3(uplink=1GB/s) socket:2 core:4", {Mapping::Kind::random, 42});
  const topo::Hierarchy hierarchy = hierarchy_of(alike);
  const Outcome seen = run(alike, workload(hierarchy, *hier::composition_from("ring", hierarchy)), load(96000, 10, 3));
  std::size_t ties = 0;
  for (std::size_t i = 1; i < seen.timeline.size(); ++i) {
    const Activity &one = seen.timeline[i - 1], &next = seen.timeline[i];
    ASSERT_LE(std::pair(one.begin, one.rank), std::pair(next.begin, next.rank)) << "activity " << i;
    if (one.begin == next.begin) ++ties;
  }
  EXPECT_GT(ties, seen.timeline.size() / 10) << "nothing was decided";
}

TEST(SimulatedSchedules, KeepEveryCoreAtOneStepAtATimeAfterWhatItDependsOn) {
  const Machine one = machine("node:3 core:3", {Mapping::Kind::random, 3});
  const topo::Hierarchy hierarchy = hierarchy_of(one);
  const auto composition = *hier::composition_from("direct+ring", hierarchy);
  const auto programs = hierarchies::programs(hierarchy, composition);
  const Outcome seen = run(one, workload(hierarchy, composition), load(90000, 9, 3));
  std::map<std::tuple<int, int, int>, Activity> by_step;
  std::vector<double> free(9, 0);
  for (const Activity& activity : seen.timeline) {
    double& free_at = free[static_cast<std::size_t>(activity.rank)];
    EXPECT_GE(activity.begin, free_at);
    free_at = activity.end;
    by_step[{activity.rank, activity.slice, activity.step}] = activity;
  }
  for (const auto& [key, activity] : by_step)
    for (const auto earlier :
         programs[static_cast<std::size_t>(activity.rank)].steps[static_cast<std::size_t>(activity.step)].dependencies)
      EXPECT_LE((by_step.at({activity.rank, activity.slice, earlier}).end), activity.begin);
  EXPECT_EQ(by_step.size(), seen.timeline.size());
}

TEST(SimulatedSchedules, OfAThousandRanksAndAThousandStepsRun) {
  constexpr int ranks = 1000, rounds = 500;
  const Machine many = machine("rack:5(uplink=10GB/s) node:20 core:10");
  const auto ring = workload(ranks, [](sched::ProgramBuilder& builder) {
    for (int round = 0; round < rounds; ++round) {
      const sched::Tag tag{0, 0, static_cast<std::uint16_t>(round)};
      builder.send(sched::Range{}, round == 0 ? sched::input : sched::output, {(builder.rank() + 1) % ranks}, tag);
      builder.recv(sched::Range{}, sched::output, (builder.rank() + ranks - 1) % ranks, tag);
    }
  });
  Load once = load(1000);
  once.with_timeline = false;
  const Outcome seen = run(many, ring, once);
  EXPECT_EQ(seen.level_bytes, (std::vector<std::int64_t>{std::int64_t{1000} * ranks * rounds}));
}

} // namespace
} // namespace strata::sim
