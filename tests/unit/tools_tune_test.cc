// SPDX-License-Identifier: BSD-3-Clause
// The table that strata-tune makes of what it measured.
#include "tools/tune.h"

#include <gtest/gtest.h>

namespace strata::tools {
namespace {

MeasuredWay took(const char* words, double microseconds) {
  const auto way = tune::way_from(words);
  EXPECT_TRUE(way) << words;
  return {way ? *way : tune::Way{}, microseconds * 1e-6};
}

/// The rows, one a line, without remarks.
std::string rows(const std::vector<MeasuredSize>& sizes) {
  std::string text;
  for (const tune::TableRow& row : table_of({}, sizes).rows)
    text += std::to_string(row.up_to) + " " + to_text(row.way) + "\n";
  return text;
}

TEST(TunedTable, HasOneRowForNeighboursWithTheSameWay) {
  EXPECT_EQ(rows({{1024, {took("native", 4), took("board", 1)}},
                  {2048, {took("native", 5), took("board", 2)}},
                  {4096, {took("native", 6), took("ring", 3)}}}),
            "2560 board\n4096 ring\n");
}

TEST(TunedTable, HasNoRowForASizeThatNoWayServed) {
  EXPECT_EQ(rows({{1024, {took("board", 1)}}, {2048, {}}, {4096, {took("board", 3)}}}), "4096 board\n");
  EXPECT_EQ(rows({{1024, {}}}), "");
}

TEST(TunedTable, ChangesHalfWayBetweenTwoSizes) {
  // The middle of 4K and 64K by ratio is 16K; the class that begins there belongs to the smaller.
  EXPECT_EQ(rows({{4096, {took("board", 1)}}, {65536, {took("ring", 1)}}}), "16384 board\n65536 ring\n");
  // These are of neighbouring classes.
  EXPECT_EQ(rows({{4096, {took("board", 1)}}, {5120, {took("ring", 1)}}}), "4096 board\n5120 ring\n");
}

TEST(TunedTable, KeepsAWayThatIsAsGoodAsTheBestButForNoise) {
  EXPECT_EQ(rows({{1024, {took("ring", 1.0), took("direct", 2.0)}},
                  {2048, {took("ring", 1.02), took("direct", 1.0)}},
                  {4096, {took("ring", 1.5), took("direct", 1.0)}}}),
            "2560 ring\n4096 direct\n");
}

TEST(TunedTable, GivesASizeToTheMpiLibraryWhereOthersAreNoBetter) {
  EXPECT_EQ(rows({{1024, {took("ring", 1.0), took("native", 1.02)}}}), "1024 native\n");
  EXPECT_EQ(rows({{1024, {took("ring", 1.0), took("native", 1.1)}}}), "1024 ring\n");
}

TEST(TunedTable, TellsTheTimesOfTheFastestAndOfTheMpiLibrary) {
  const tune::Table table =
      table_of({}, {{1024, {took("native", 9), took("ring", 2), took("board", 1), took("direct", 3)}}});
  ASSERT_EQ(table.rows.size(), 1u);
  const std::vector<std::string>& remarks = table.rows[0].remarks;
  ASSERT_EQ(remarks.size(), 3u);
  EXPECT_NE(remarks[0].find("1K"), std::string::npos) << remarks[0];
  EXPECT_TRUE(remarks[0].ends_with(" board")) << remarks[0];
  EXPECT_TRUE(remarks[1].ends_with(" ring")) << remarks[1];
  EXPECT_TRUE(remarks[2].ends_with(" native")) << remarks[2];
  EXPECT_EQ(
      table_of({}, {{1024, {took("native", 9), took("ring", 2), took("board", 1), took("direct", 3)}}}, Remarks::all)
          .rows[0]
          .remarks.size(),
      4u);
}

TEST(TunedTable, IsReadBack) {
  const auto machine = tune::machine_from("nodes=1 ranks-per-node=4 racks=0 cores=2 mpi=openmpi-4.1");
  ASSERT_TRUE(machine);
  const tune::Table table =
      table_of(*machine, {{1024, {took("ring window=3 around=both", 1)}}, {4096, {took("native", 2)}}});
  const auto again = tune::table_from(to_text(table), "t.txt");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, table);
}

} // namespace
} // namespace strata::tools
