// SPDX-License-Identifier: BSD-3-Clause
// How a slice is cut, and how a program reads as text.
#include "sched/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace strata::sched {
namespace {

TEST(SliceRanges, AreCutIntoPartsThatJoinWithoutGaps) {
  for (Range range : {Range{}, part_of({}, 7, 3), part_of(part_of({}, 13, 12), 11, 5)})
    for (int parts : {1, 2, 3, 7, 16, 17, 1000, 1000003}) {
      EXPECT_EQ(part_of(range, parts, 0).begin, range.begin);
      EXPECT_EQ(part_of(range, parts, parts - 1).end, range.end);
      for (int i = 1; i < std::min(parts, 40); ++i)
        EXPECT_EQ(part_of(range, parts, i).begin, part_of(range, parts, i - 1).end);
    }
}

TEST(SliceRanges, AreCutIntoPartsThatDifferByOneUnitAtMost) {
  const Range range{1, 1 + 1000};
  for (int i = 0; i < 7; ++i) {
    const Range part = part_of(range, 7, i);
    EXPECT_TRUE(part.end - part.begin == 142 || part.end - part.begin == 143);
  }
}

TEST(SliceRanges, AreCutExactlyForUpToSixteenMembersAndTheirHalves) {
  for (int outer = 1; outer <= 16; ++outer)
    for (int inner : {1, 2, 4, 8}) {
      const Range part = part_of(part_of({}, outer, outer - 1), inner, 0);
      EXPECT_EQ((part.end - part.begin) * outer * inner, whole);
    }
}

TEST(SliceRanges, MapOntoElementsFromFirstToLastAndNeverBackwards) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::int64_t elements :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, std::int64_t{1} << 20, std::int64_t{1} << 40}) {
    EXPECT_EQ(element_at(0, elements), 0);
    EXPECT_EQ(element_at(whole, elements), elements);
    std::vector<Unit> positions(100);
    for (Unit& position : positions)
      position = static_cast<Unit>(random() % (whole + 1));
    std::sort(positions.begin(), positions.end());
    for (std::size_t i = 1; i < positions.size(); ++i)
      EXPECT_LE(element_at(positions[i - 1], elements), element_at(positions[i], elements));
  }
}

TEST(SliceRanges, GiveEveryMemberAnElementWhenThereAreAsManyElementsAsMembers) {
  for (int members = 1; members <= 200; ++members)
    for (int i = 0; i < members; ++i) {
      const Range part = part_of({}, members, i);
      EXPECT_EQ(element_at(part.end, members) - element_at(part.begin, members), 1) << members << " members";
    }
}

TEST(ScheduleText, ShowsRangesAsFractionsOfTheSlice) {
  EXPECT_EQ(to_text(Range{}), "[0,1)");
  EXPECT_EQ(to_text(part_of({}, 4, 1)), "[1/4,1/2)");
  EXPECT_EQ(to_text(part_of(part_of({}, 3, 2), 5, 4)), "[14/15,1)");
}

TEST(ScheduleText, ShowsTagsAsLevelPhaseAndRound) {
  EXPECT_EQ(to_text(Tag{0, reduce_scatter_phase, 0}), "l0.rs.0");
  EXPECT_EQ(to_text(Tag{2, broadcast_phase, 17}), "l2.bc.17");
  EXPECT_EQ(to_text(Tag{1, 9, 3}), "l1.?.3");
}

TEST(ScheduleText, ShowsAProgramOneStepALine) {
  constexpr Tag tag{1, all_gather_phase, 4};
  ProgramBuilder builder(1, 4);
  const Place region = scratch(builder.new_scratch_region());
  builder.send(part_of({}, 2, 0), input, {0, 2, 3}, tag);
  builder.recv({}, region, 2, tag);
  builder.reduce(part_of({}, 4, 1), output, {from(input), from(region), from(3, tag)}, tag);
  builder.copy(part_of({}, 4, 3), output, region, tag);
  EXPECT_EQ(to_text(std::move(builder).finish()), "rank 1 of 4, 4 steps, 1 scratch regions\n"
                                                  "0: send input[0,1/2) to 0,2,3 as l1.ag.4\n"
                                                  "1: recv scratch0[0,1) = message(2, l1.ag.4)\n"
                                                  "2: reduce output[1/4,1/2) = input + scratch0 + message(3, l1.ag.4)"
                                                  "  after 0,1\n"
                                                  "3: copy output[3/4,1) = scratch0  after 1\n");
}

} // namespace
} // namespace strata::sched
