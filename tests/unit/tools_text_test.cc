// SPDX-License-Identifier: BSD-3-Clause
#include "tools/info.h"
#include "tools/perf.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata::tools {
namespace {

using Sizes = std::vector<std::uint64_t>;

TEST(PerfSizes, AreListsAndRangesThatDouble) {
  const auto sizes = sizes_from("8, 1K:5K,2M");
  ASSERT_TRUE(sizes) << sizes.error().message;
  EXPECT_EQ(*sizes, (Sizes{8, 1024, 2048, 4096, 2 << 20}));
}

TEST(PerfSizes, NameThePartThatIsWrong) {
  for (const char* text : {"8,", "8,x", "8:4", "0", "1:2:3", "-1", "9999G"})
    EXPECT_FALSE(sizes_from(text)) << text;
  EXPECT_NE(sizes_from("64,8:4").error().message.find("8:4"), std::string::npos);
}

TEST(PerfSpread, LiesBetweenTheNearestValues) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i)
    values.push_back(i);
  const Spread spread = spread_of(values);
  EXPECT_DOUBLE_EQ(spread.low, 10);
  EXPECT_DOUBLE_EQ(spread.median, 50);
  EXPECT_DOUBLE_EQ(spread.high, 90);
  EXPECT_DOUBLE_EQ(spread_of({1, 2}).median, 1.5);
  EXPECT_DOUBLE_EQ(spread_of({}).median, 0);
}

TEST(PerfSpread, TakesTheRatioOfEachPairAndNotOfTheMedians) {
  const Spread ratio = ratio_of({2, 8, 30}, {1, 2, 10});
  EXPECT_DOUBLE_EQ(ratio.median, 3);
  EXPECT_DOUBLE_EQ(ratio_of({1, 2}, {0, 1}).median, 2) << "a time of nothing gives no ratio";
}

TEST(PerfSpread, TellsHowFarTheMedianMayBeOff) {
  std::vector<double> values;
  for (int i = 0; i <= 100; ++i)
    values.push_back(100 + i); // 5 places, of 101 values, are a standard deviation
  EXPECT_NEAR(doubt_of_median(values), 5 / 150.0, 1e-3);
  std::reverse(values.begin(), values.end());
  EXPECT_NEAR(doubt_of_median(values), 5 / 150.0, 1e-3);
  EXPECT_DOUBLE_EQ(doubt_of_median({4, 4, 4, 9, 4, 4, 4, 4, 4}), 0) << "one that was disturbed";
  EXPECT_GT(doubt_of_median({4, 8, 6}), 0.25);
  EXPECT_DOUBLE_EQ(doubt_of_median({1, 1}), 1);
  EXPECT_DOUBLE_EQ(doubt_of_median({}), 1);
  EXPECT_DOUBLE_EQ(doubt_of_median({0, 0, 0}), 1) << "a clock that stands still tells nothing";
}

TEST(InfoLevels, KnowTheirNumberOfRanks) {
  EXPECT_EQ(hierarchy_of_levels("4x2x3")->ranks, 24);
  EXPECT_EQ(hierarchy_of_levels("0,1|2,3,4|5 / 0-4|5")->ranks, 6);
  EXPECT_FALSE(hierarchy_of_levels("0x4"));
  EXPECT_FALSE(hierarchy_of_levels("99999999999999999999x9"));
}

TEST(InfoSchedule, PrintsTheRanksThatAreAskedFor) {
  InfoFlags flags;
  flags.levels = "2x2";
  flags.schedule = "direct+ring";
  const auto all = schedule_text(flags);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_NE(all->find("rank 3 of 4"), std::string::npos) << *all;
  flags.rank = 1;
  const auto one = schedule_text(flags);
  ASSERT_TRUE(one);
  EXPECT_NE(one->find("rank 1 of 4"), std::string::npos) << *one;
  EXPECT_EQ(one->find("rank 0 of 4"), std::string::npos) << *one;
}

TEST(InfoJob, GivesTheHierarchyBack) {
  const auto job = nlohmann::json::parse(R"({"ranks": 4, "levels": [
      {"name": "node", "link": "shared memory", "groups": [[0, 2], [1, 3]]},
      {"name": "cluster", "link": "network", "groups": [[0, 1, 2, 3]]}]})");
  const topo::Hierarchy hierarchy = hierarchy_of(job);
  EXPECT_TRUE(topo::check(hierarchy));
  ASSERT_EQ(hierarchy.levels.size(), 2U);
  EXPECT_EQ(hierarchy.levels[0].group_of, (std::vector<std::int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(hierarchy.levels[0].link, topo::LinkKind::shared_memory);
  EXPECT_EQ(hierarchy.levels[1].link, topo::LinkKind::network);
}

} // namespace
} // namespace strata::tools
