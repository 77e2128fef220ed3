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

/// A choice of `way`, which took 2 us where the best took 1.9.
MeasuredSize with_choice(std::optional<tune::Way> way) {
  MeasuredSize size{1024, {took("native", 9), took("ring", 2), took("board", 1.9)}};
  OwnChoice own;
  own.way = std::move(way);
  own.way_at_first = took("ring", 9).way;
  own.way_after = took("native", 9).way;
  own.seconds = 2.1e-6;
  if (own.way) own.forced_seconds = 2e-6;
  own.best = took("board", 1.9);
  own.native_seconds = 9.5e-6;
  own.doubt = 0.02;
  own.wrong = 3;
  own.native_wrong = 1;
  size.own = own;
  size.briefly = {took("direct", 1)};
  return size;
}

TEST(TunedTable, TellsHowGoodStratasOwnChoiceIs) {
  const tune::Table table = table_of({}, {with_choice(took("ring", 2).way)});
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(to_text(table.rows[0].way), "board");
  EXPECT_EQ(table.rows[0].remarks.back(), "  by itself 2.10 us, 0.95 of the best: ring");
  EXPECT_EQ(table_of({}, {with_choice(std::nullopt)}).rows[0].remarks.back(),
            "  by itself 2.10 us, 0.90 of the best: still trying");
}

TEST(TunedTable, GoesByTheFinal) {
  // What was measured briefly may look faster than it is.
  const std::vector<MeasuredSize> sizes{{1024, {took("native", 3), took("ring", 2)}, {took("direct", 1)}}};
  const tune::Table table = table_of({}, sizes, Remarks::all);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(to_text(table.rows[0].way), "ring");
  EXPECT_EQ(table.rows[0].remarks.back(), "  briefly   1.00 us direct");
  EXPECT_EQ(table_of({}, sizes).rows[0].remarks.size(), 2u);
}

TEST(TunedDocument, HasAllTimesAndStratasOwnChoice) {
  const nlohmann::json document =
      document_of({{"ranks", 4}}, {{512, {took("native", 5)}}, with_choice(took("ring", 2).way)});
  EXPECT_EQ(document["ranks"], 4);
  ASSERT_EQ(document["rows"].size(), 2u);
  EXPECT_EQ(document["rows"][0],
            (nlohmann::json{{"bytes", 512}, {"ways", {{"native", 5 * 1e-6}}}, {"briefly", nlohmann::json::object()}}));
  const nlohmann::json& row = document["rows"][1];
  EXPECT_EQ(row["briefly"], (nlohmann::json{{"direct", 1 * 1e-6}}));
  EXPECT_EQ(row["ways"], (nlohmann::json{{"native", 9 * 1e-6}, {"ring", 2 * 1e-6}, {"board", 1.9 * 1e-6}}));
  EXPECT_EQ(row["by_itself"], (nlohmann::json{{"way", "ring"},
                                              {"way_at_first", "ring"},
                                              {"way_after", "native"},
                                              {"seconds", 2.1e-6},
                                              {"forced_seconds", 2e-6},
                                              {"best", "board"},
                                              {"best_seconds", 1.9 * 1e-6},
                                              {"native_seconds", 9.5e-6},
                                              {"doubt", 0.02},
                                              {"errors", 3},
                                              {"native_errors", 1}}));
}

TEST(TunedDocument, HasNoWayWhereStrataWasStillTrying) {
  const nlohmann::json row = document_of(nlohmann::json::object(), {with_choice(std::nullopt)})["rows"][0];
  EXPECT_TRUE(row["by_itself"]["way"].is_null());
  EXPECT_TRUE(row["by_itself"]["forced_seconds"].is_null());
  EXPECT_EQ(row["by_itself"]["seconds"], 2.1e-6);
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
