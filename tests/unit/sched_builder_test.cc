// SPDX-License-Identifier: BSD-3-Clause
// Which steps the builder makes a step wait for.
#include "sched/builder.h"

#include <gtest/gtest.h>

namespace strata::sched {
namespace {

constexpr Tag tag{0, all_reduce_phase, 0};
constexpr Range all{};
constexpr Range low{0, whole / 2};
constexpr Range high{whole / 2, whole};
constexpr Range middle{whole / 4, whole / 4 * 3};

struct ScheduleBuilder : testing::Test {
  ProgramBuilder builder{0, 4};
  Place region0 = scratch(builder.new_scratch_region());
  Place region1 = scratch(builder.new_scratch_region());

  using Steps = std::vector<StepIndex>;
  Steps dependencies_of(StepIndex step) {
    return ProgramBuilder(builder).finish().steps[static_cast<std::size_t>(step)].dependencies;
  }
};

TEST_F(ScheduleBuilder, NumbersStepsInTheOrderInWhichTheyAreAppended) {
  EXPECT_EQ(builder.send(all, input, {1}, tag), 0);
  EXPECT_EQ(builder.recv(all, region0, 1, tag), 1);
  EXPECT_EQ(builder.reduce(all, region0, {from(region0), from(input)}, tag), 2);
  EXPECT_EQ(builder.copy(all, output, region0, tag), 3);
  const Program program = std::move(builder).finish();
  EXPECT_EQ(program.rank, 0);
  EXPECT_EQ(program.ranks, 4);
  EXPECT_EQ(program.scratch_regions, 2);
  ASSERT_EQ(program.steps.size(), 4u);
  EXPECT_EQ(program.steps[2].kind, Kind::reduce);
  EXPECT_EQ(program.steps[2].operands, (std::vector{from(region0), from(input)}));
}

TEST_F(ScheduleBuilder, AppendsNoSendToNobody) {
  EXPECT_EQ(builder.send(all, input, {}, tag), -1);
  EXPECT_TRUE(std::move(builder).finish().steps.empty());
}

TEST_F(ScheduleBuilder, AppendsNoStepOnAnEmptyRange) {
  const Range empty{whole / 3, whole / 3};
  EXPECT_EQ(builder.send(empty, input, {1}, tag), -1);
  EXPECT_EQ(builder.recv(empty, output, 1, tag), -1);
  EXPECT_EQ(builder.reduce(empty, output, {from(input)}, tag), -1);
  EXPECT_EQ(builder.copy(empty, output, input, tag), -1);
  EXPECT_TRUE(std::move(builder).finish().steps.empty());
}

TEST_F(ScheduleBuilder, MakesAReadWaitForTheWriteOfWhatItReads) {
  builder.recv(all, region0, 1, tag);
  EXPECT_EQ(dependencies_of(builder.send(all, region0, {2}, tag)), Steps{0});
  EXPECT_EQ(dependencies_of(builder.copy(all, output, region0, tag)), Steps{0});
  EXPECT_EQ(dependencies_of(builder.reduce(all, region1, {from(input), from(region0)}, tag)), (Steps{0, 2}));
}

TEST_F(ScheduleBuilder, MakesAWriteWaitForTheReadsOfWhatItOverwrites) {
  builder.send(all, region0, {1}, tag);
  builder.send(all, region0, {2}, tag);
  EXPECT_EQ(dependencies_of(builder.recv(all, region0, 3, tag)), (Steps{0, 1}));
}

TEST_F(ScheduleBuilder, MakesAWriteWaitForTheWriteThatItOverwrites) {
  builder.recv(all, region0, 1, tag);
  EXPECT_EQ(dependencies_of(builder.recv(all, region0, 2, tag)), Steps{0});
}

TEST_F(ScheduleBuilder, LetsReadsOfOnePlaceRunAtTheSameTime) {
  builder.send(all, input, {1}, tag);
  EXPECT_EQ(dependencies_of(builder.send(all, input, {2}, tag)), Steps{});
}

TEST_F(ScheduleBuilder, LetsStepsOnDisjointRangesRunAtTheSameTime) {
  builder.recv(low, output, 1, tag);
  EXPECT_EQ(dependencies_of(builder.recv(high, output, 1, tag)), Steps{});
  EXPECT_EQ(dependencies_of(builder.send(high, output, {2}, tag)), Steps{1});
}

TEST_F(ScheduleBuilder, MakesAStepWaitForEveryOneThatItsRangeOverlaps) {
  builder.recv(low, output, 1, tag);
  builder.recv(high, output, 1, tag);
  EXPECT_EQ(dependencies_of(builder.send(middle, output, {2}, tag)), (Steps{0, 1}));
  EXPECT_EQ(dependencies_of(builder.recv({0, whole / 8}, output, 3, tag)), Steps{0});
  EXPECT_EQ(dependencies_of(builder.send(low, output, {3}, tag)), (Steps{0, 3}));
}

TEST_F(ScheduleBuilder, KeepsRegionsOfScratchApart) {
  builder.recv(all, region0, 1, tag);
  EXPECT_EQ(dependencies_of(builder.recv(all, region1, 1, tag)), Steps{});
}

TEST_F(ScheduleBuilder, TakesInputAndOutputForOneMemory) {
  builder.send(all, input, {1}, tag);
  EXPECT_EQ(dependencies_of(builder.recv(all, output, 1, tag)), Steps{0});
  EXPECT_EQ(dependencies_of(builder.send(all, input, {2}, tag)), Steps{1});
}

TEST_F(ScheduleBuilder, NeverMakesAStepWaitForItself) {
  EXPECT_EQ(dependencies_of(builder.reduce(all, output, {from(input), from(1, tag)}, tag)), Steps{});
  EXPECT_EQ(dependencies_of(builder.reduce(all, output, {from(output), from(input)}, tag)), Steps{0});
}

TEST_F(ScheduleBuilder, NamesEachDependencyOnceInAscendingOrder) {
  for (int part = 0; part < 4; ++part)
    builder.recv(part_of({}, 4, 3 - part), part % 2 == 0 ? region0 : region1, 1, tag);
  EXPECT_EQ(dependencies_of(builder.reduce(all, output, {from(region1), from(region0)}, tag)), (Steps{0, 1, 2, 3}));
}

TEST_F(ScheduleBuilder, GivesEveryRegionOfScratchOnce) {
  EXPECT_EQ(builder.new_scratch_region(), 2);
  EXPECT_EQ(builder.new_scratch_region(), 3);
  EXPECT_EQ(std::move(builder).finish().scratch_regions, 4);
}

} // namespace
} // namespace strata::sched
