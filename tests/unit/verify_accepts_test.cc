// SPDX-License-Identifier: BSD-3-Clause
// Schedules that the verifier must accept: hand-written shapes, the same in other words, and pairs of the registry's
// forms (coll_verified_test.cc has each form alone).
#include "coll/algorithm.h"
#include "verify_shapes.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <random>

namespace strata::verify {
namespace {

using sched::Program;
using sched::StepIndex;

unsigned new_seed() { return std::random_device{}(); }

/// The same program with its steps listed in another order in which they could run one after the other.
Program relisted(const Program& program, std::mt19937& random) {
  const std::size_t steps = program.steps.size();
  std::vector<StepIndex> place(steps, -1); // of the old steps in the new list
  Program result = program;
  result.steps.clear();
  while (result.steps.size() < steps) {
    const std::size_t next = random() % steps;
    const auto& needed = program.steps[next].dependencies;
    const auto listed = [&](StepIndex step) { return place[static_cast<std::size_t>(step)] >= 0; };
    if (place[next] >= 0 || !std::all_of(needed.begin(), needed.end(), listed)) continue;
    place[next] = static_cast<StepIndex>(result.steps.size());
    result.steps.push_back(program.steps[next]);
    for (StepIndex& dependency : result.steps.back().dependencies)
      dependency = place[static_cast<std::size_t>(dependency)];
    std::sort(result.steps.back().dependencies.begin(), result.steps.back().dependencies.end());
  }
  return result;
}

/// The same program without the dependencies that follow from others.
Program reduced(const Program& program) {
  const std::size_t steps = program.steps.size();
  std::vector<std::vector<bool>> after(steps, std::vector<bool>(steps));
  Program result = program;
  for (std::size_t i = 0; i < steps; ++i) {
    const auto follows = [&](StepIndex dependency) {
      for (StepIndex other : program.steps[i].dependencies)
        if (after[static_cast<std::size_t>(other)][static_cast<std::size_t>(dependency)]) return true;
      return false;
    };
    std::erase_if(result.steps[i].dependencies, follows);
    for (StepIndex dependency : program.steps[i].dependencies) {
      const auto before = static_cast<std::size_t>(dependency);
      after[i][before] = true;
      for (std::size_t j = 0; j < before; ++j)
        if (after[before][j]) after[i][j] = true;
    }
  }
  return result;
}

TEST(Verifier, AcceptsHandWrittenShapesOfTwoToSixteenRanks) {
  for (int ranks = 2; ranks <= 16; ++ranks)
    for (const auto& [name, schedule, repeated] : shapes::of_ranks(ranks))
      EXPECT_EQ(judgement_of(schedule), "accepted") << name;
}

TEST(Verifier, AcceptsStepsListedInAnyOrderThatTheirDependenciesAllow) {
  const unsigned seed = new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (auto& [name, schedule, repeated] : shapes::of_ranks(ranks)) {
      for (Program& program : schedule)
        program = relisted(program, random);
      EXPECT_EQ(judgement_of(schedule), "accepted") << name;
    }
}

TEST(Verifier, AcceptsProgramsWithoutTheDependenciesThatFollowFromOthers) {
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (auto& [name, schedule, repeated] : shapes::of_ranks(ranks)) {
      for (Program& program : schedule)
        program = reduced(program);
      EXPECT_EQ(judgement_of(schedule), "accepted") << name;
    }
}

TEST(Verifier, AcceptsOneRankThatCopiesItsInput) {
  EXPECT_EQ(judgement_of(schedule_of(
                1, [](sched::ProgramBuilder& builder, int) { builder.copy({}, sched::output, sched::input, {}); })),
            "accepted");
}

TEST(Verifier, AcceptsTheLastOfAllScratchRegions) {
  Schedule schedule = shapes::publish(2);
  const auto last = std::numeric_limits<std::uint16_t>::max() - 1;
  schedule[0].scratch_regions = std::numeric_limits<std::uint16_t>::max();
  schedule[0].steps[1].place = sched::scratch(last);
  schedule[0].steps[2].operands = {sched::from(sched::scratch(last))};
  EXPECT_EQ(judgement_of(schedule), "accepted");
}

TEST(Verifier, AcceptsAReduceScatterFollowedByAnAllGatherOfAnyTwoRowsOfTheRegistry) {
  for (const coll::Algorithm& scatter : coll::registry())
    for (const coll::Algorithm& gather : coll::registry()) {
      if (!scatter.reduce_scatter || !gather.all_gather) continue;
      for (int ranks : {2, 3, 5, 8, 13, 24}) {
        coll::Group group;
        group.ranks = shapes::all_but(ranks, -1);
        const Schedule schedule = schedule_of(ranks, [&](sched::ProgramBuilder& builder, int rank) {
          group.self = rank;
          scatter.reduce_scatter.generate(builder, group, {{}, sched::input, 0});
          gather.all_gather.generate(builder, group, {{}, sched::output, 0});
        });
        EXPECT_EQ(judgement_of(schedule), "accepted") << scatter.name << ", " << gather.name << " of " << ranks;
      }
    }
}

/// Processor time, because a test machine may be busy.
double seconds_to_accept(const Schedule& schedule) {
  const std::clock_t start = std::clock();
  EXPECT_EQ(judgement_of(schedule), "accepted");
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// About 10 ms each; the rest of the second is for sanitizers.

TEST(Verifier, ProvesSixtyFourRanksInWellUnderASecond) {
  EXPECT_LT(seconds_to_accept(shapes::direct(64)), 1.0);
  EXPECT_LT(seconds_to_accept(shapes::ring(64)), 1.0);
  EXPECT_LT(seconds_to_accept(shapes::publish(64)), 1.0);
  EXPECT_LT(seconds_to_accept(shapes::two_levels(8, 8)), 1.0);
}

TEST(Verifier, ProvesARingWhoseOrderOnlyFollowsFromOtherDependenciesInWellUnderASecond) {
  Schedule schedule = shapes::ring(64);
  for (Program& program : schedule)
    program = reduced(program);
  EXPECT_LT(seconds_to_accept(schedule), 1.0);
}

} // namespace
} // namespace strata::verify
