// SPDX-License-Identifier: BSD-3-Clause
#include "edited_text.h"
#include "hierarchies.h"
#include "tune/table.h"

#include <gtest/gtest.h>

namespace strata::tune {
namespace {

const std::string four_nodes = "strata-table 1\n" // line 1
                               "# by hand\n"      // 2
                               "machine nodes=4 ranks-per-node=4 racks=0 cores=8 transport=ucx mpi=openmpi-4.1\n" // 3
                               "up-to 8K    board\n"                                                              // 4
                               "up-to 256K  direct.leader+recursive_doubling.exchange slice=64K window=2\n"       // 5
                               "up-to 1M    native   # faster here\n"                                             // 6
                               "above       direct,ring slice=384K\n"                                             // 7
                               "end 5\n";                                                                         // 8

std::string table_reason(const std::string& text) { return reason_of(table_from, text, "t.txt"); }

std::string algorithm_names() {
  std::string names;
  for (const coll::Algorithm& row : coll::registry())
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

void expect_table_refusal(const std::string& what, const std::string& other, const std::string& message) {
  EXPECT_EQ(table_reason(with(four_nodes, what, other)), message);
}

TableRow row(std::uint64_t up_to, Candidate::Kind kind, const std::string& composition = "", std::uint64_t slice = 0,
             std::uint64_t window = 0) {
  TableRow made;
  made.up_to = up_to;
  made.way.kind = kind;
  made.way.composition = composition;
  made.way.slice = slice;
  made.way.window = window;
  return made;
}

Table four_nodes_table() { return *table_from(four_nodes, "t.txt"); }

TEST(TableText, IsRead) {
  const auto table = table_from(four_nodes, "t.txt");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->machine, (MachineShape{4, 4, 0, 8, "ucx", "openmpi-4.1"}));
  using enum Candidate::Kind;
  EXPECT_EQ(table->rows,
            (std::vector{row(8192, board), row(262144, schedule, "direct.leader+recursive_doubling.exchange", 65536, 2),
                         row(1048576, native), row(any_size, schedule, "direct+ring", 393216)}));
  EXPECT_EQ(table->rows[2].line, 6u);
}

TEST(TableText, MaySettleLevelsAndStores) {
  const auto table = table_from(
      with(with(four_nodes, "slice=384K", "racks=ignored around=both"), "board", "board around=nothing"), "t.txt");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_TRUE(table->rows[3].way.plain);
  EXPECT_EQ(table->rows[3].way.around, Around::both);
  EXPECT_EQ(table->rows[0].way.around, Around::nothing);
  const std::string text = to_text(*table);
  EXPECT_NE(text.find("direct+ring racks=ignored around=both\n"), std::string::npos) << text;
  EXPECT_EQ(*table_from(text, "again"), *table);
}

TEST(TableText, MayDemoteWhatTheLatencyPathPublishes) {
  const auto table = table_from(with(four_nodes, "board", "board demoted=published"), "t.txt");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->rows[0].way.around, Around::demoted);
  const std::string text = to_text(*table);
  EXPECT_NE(text.find("board demoted=published\n"), std::string::npos) << text;
  EXPECT_EQ(*table_from(text, "again"), *table);
  expect_table_refusal("board", "board demoted=results", "t.txt:4: demoted=results cannot be (published)");
  expect_table_refusal("board", "board demoted=published around=nothing",
                       "t.txt:4: around and demoted exclude each other");
  expect_table_refusal(
      "slice=384K", "demoted=published",
      "t.txt:7: above takes no 'demoted=published' (slice, window, racks or around, each with '=' and its value)");
}

TEST(TableText, HasRemarksBeforeTheirRows) {
  Table table = four_nodes_table();
  table.rows[2].remarks = {"512K 12 us"};
  const std::string text = to_text(table);
  EXPECT_NE(text.find("window=2\n# 512K 12 us\nup-to 1M      native\n"), std::string::npos) << text;
  EXPECT_EQ(*table_from(text, "again"), table);
}

TEST(TableText, OfAWayAloneIsRead) {
  const auto way = way_from("direct,ring window=3");
  ASSERT_TRUE(way) << way.error().message;
  EXPECT_EQ(*way, row(0, Candidate::Kind::schedule, "direct+ring", 0, 3).way);
  EXPECT_EQ(to_text(*way), "direct+ring window=3");
  for (const char* words : {"", "rong", "native\nend 2", "native\nabove ring", "native # end"})
    EXPECT_EQ(static_cast<bool>(way_from(words)), std::string(words) == "native # end") << words;
  EXPECT_EQ(*machine_from("nodes=2 mpi=mpich-4.0"), (MachineShape{2, {}, {}, {}, "", "mpich-4.0"}));
  EXPECT_EQ(to_text(*machine_from("")), "");
}

TEST(TableText, OfMoreRowsThanThereAreClassesOfSizesIsRefused) {
  std::string text = "strata-table 1\nmachine\n";
  for (std::size_t row = 1; row <= most_rows + 1; ++row)
    text += "up-to " + std::to_string(row) + " native\n";
  EXPECT_EQ(table_reason(text + "end 258\n"), "t.txt:259: there are more than 256 rows");
}

TEST(TableText, IsWrittenSoThatItIsReadBack) {
  const Table table = four_nodes_table();
  const std::string text = to_text(table);
  const auto again = table_from(text, "again");
  ASSERT_TRUE(again) << again.error().message << "\n" << text;
  EXPECT_EQ(*again, table);
  EXPECT_EQ(to_text(*again), text);
  EXPECT_EQ(text.substr(text.find("\nmachine") + 1),
            "machine nodes=4 ranks-per-node=4 racks=0 cores=8 transport=ucx mpi=openmpi-4.1\n"
            "#     bytes   way\n"
            "up-to 8K      board\n"
            "up-to 256K    direct.leader+recursive_doubling.exchange slice=64K window=2\n"
            "up-to 1M      native\n"
            "above         direct+ring slice=384K\n"
            "end 5\n");
}

TEST(TableText, ThatSaysNothingOfTheMachineIsForAny) {
  const auto table = table_from("strata-table 1\nmachine\nabove ring\nend 2\n", "t.txt");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(misfit(*table, {3, 5, 1, 8, "mpi", "mpich-4.0"}), "");
  EXPECT_EQ(table->rows[0].way.composition, "ring") << "one name stands for any number of levels";
}

TEST(TableText, CutShortIsRefused) {
  for (std::size_t length = 0; length + 2 < four_nodes.size(); ++length)
    EXPECT_NE(table_reason(four_nodes.substr(0, length)), "it was taken") << length << " bytes";
  expect_table_refusal("up-to 8K    board\n", "",
                       "t.txt:7: 'end 5' does not fit: between the first line and this one, 4 say "
                       "something (write 'end 4' if none is missing)");
}

TEST(TableText, OfAnotherVersionIsRefused) {
  expect_table_refusal("strata-table 1", "strata-table 7", "t.txt:1: strata-table of version '7' is not known (1 is)");
}

TEST(TableText, WhoseSizesDoNotAscendIsRefused) {
  expect_table_refusal("up-to 256K", "up-to 8192", "t.txt:5: 'up-to 8192' comes after 'up-to 8K', but sizes ascend");
  expect_table_refusal("up-to 256K", "above", "t.txt:6: a row comes after 'above', which is the last");
  expect_table_refusal("up-to 8K", "up-to 0",
                       "t.txt:4: 'up-to 0' cannot be (bytes, with K, M or G, from 1 to 1048576G)");
  expect_table_refusal("up-to 8K", "up-to 8Q",
                       "t.txt:4: 'up-to 8Q' cannot be (bytes, with K, M or G, from 1 to 1048576G)");
  expect_table_refusal("up-to 1M    native   # faster here", "up-to",
                       "t.txt:6: 'up-to ' cannot be (bytes, with K, M or G, from 1 to 1048576G)");
}

TEST(TableText, WithAWayThatIsNoneIsRefused) {
  expect_table_refusal("direct,ring", "direct+rong",
                       "t.txt:7: level 1: no algorithm is called 'rong' (there are " + algorithm_names() +
                           "); or native or board");
  expect_table_refusal("direct,ring", "direct+",
                       "t.txt:7: level 1: no algorithm is called '' (there are " + algorithm_names() +
                           "); or native or board");
  expect_table_refusal("direct,ring", "ring.exchange+ring",
                       "t.txt:7: level 0: ring.exchange is for the outermost level only; or native or board");
  expect_table_refusal(
      "    board", "",
      "t.txt:4: the way is missing (native, board, or a composition such as direct+ring slice=384K window=4)");
  expect_table_refusal("native ", "native slice=64K", "t.txt:6: native takes no 'slice=64K'");
  expect_table_refusal("board", "board slice=64K",
                       "t.txt:4: up-to takes no 'slice=64K' (around or demoted, each with '=' and its value)");
  std::string deep = "direct";
  for (int level = 0; level < 40; ++level)
    deep += "+direct";
  expect_table_refusal("direct,ring", deep, "t.txt:7: there are more than 32 levels");
}

TEST(TableText, WithAnAbsurdNumberIsRefused) {
  expect_table_refusal("slice=384K", "slice=1K", "t.txt:7: slice=1K cannot be (4K to 64M)");
  expect_table_refusal("slice=384K", "window=65", "t.txt:7: window=65 cannot be (1 to 64)");
  expect_table_refusal(
      "slice=384K", "windw=4",
      "t.txt:7: above takes no 'windw=4' (slice, window, racks or around, each with '=' and its value)");
  expect_table_refusal("slice=384K", "racks=2", "t.txt:7: racks=2 cannot be (ignored)");
  expect_table_refusal("slice=384K", "around=all",
                       "t.txt:7: around=all cannot be (nothing, published, results or both)");
  expect_table_refusal("nodes=4 ", "nodes=0 ", "t.txt:3: nodes=0 cannot be (a whole number from 1 to 2147483648)");
  expect_table_refusal("nodes=4 ", "nodes=-4 ", "t.txt:3: nodes=-4 cannot be (a whole number from 1 to 2147483648)");
  expect_table_refusal("mpi=openmpi-4.1",
                       "mpi=", "t.txt:3: mpi= cannot be (letters, digits and any of -_.+, 64 at most)");
}

TEST(TableText, ThatLacksOrRepeatsWhatIsNeededIsRefused) {
  expect_table_refusal("up-to 8K    board", "machine nodes=4",
                       "t.txt:4: 'machine' comes for the second time (first in line 3)");
  EXPECT_EQ(table_reason("strata-table 1\nabove ring\nend 1\n"),
            "t.txt:2: there is no 'machine' ('machine' alone: for any machine)");
  EXPECT_EQ(table_reason("strata-table 1\nmachine\nend 1\n"),
            "t.txt:2: there is no row ('up-to BYTES WAY', or 'above WAY')");
  expect_table_refusal("up-to 8K", "upto 8K", "t.txt:4: 'upto' is not known (machine, up-to, above or end)");
}

TEST(TableText, ThatGivesAKeyTwiceIsRefused) {
  expect_table_refusal("nodes=4 ", "nodes=4 nodes=4 ", "t.txt:3: 'nodes' is given for the second time");
  expect_table_refusal("slice=384K", "slice=384K slice=64K", "t.txt:7: 'slice' is given for the second time");
}

TEST(Table, FindsTheWayOfASize) {
  const Table table = four_nodes_table();
  const auto row_for = [&](std::uint64_t bytes) { return find(table, bytes) - table.rows.data(); };
  EXPECT_EQ(row_for(0), 0);
  EXPECT_EQ(row_for(8192), 0);
  EXPECT_EQ(row_for(8193), 1);
  EXPECT_EQ(row_for(1 << 20), 2);
  EXPECT_EQ(row_for((1 << 20) + 1), 3);
  EXPECT_EQ(row_for(any_size), 3);
}

TEST(Table, WithoutAboveHasNoWayForLargerSizes) {
  Table table = four_nodes_table();
  table.rows.pop_back();
  EXPECT_NE(find(table, 1 << 20), nullptr);
  EXPECT_EQ(find(table, (1 << 20) + 1), nullptr);
}

TEST(Table, TellsWhyItIsForAnotherMachine) {
  const Table table = four_nodes_table();
  const MachineShape same = table.machine;
  EXPECT_EQ(misfit(table, same), "");
  MachineShape other = same;
  other.nodes = 2;
  EXPECT_EQ(misfit(table, other), "the table is for nodes=4, and here it is 2");
  other = same;
  other.racks = 3;
  EXPECT_EQ(misfit(table, other), "the table is for racks=0, and here it is 3");
  other = same;
  other.transport = "mpi";
  EXPECT_EQ(misfit(table, other), "the table is for transport=ucx, and here it is mpi");
  other = same;
  other.mpi.clear();
  EXPECT_EQ(misfit(table, other), "the table is for mpi=openmpi-4.1, and here it is not known");
}

TEST(Table, OfEveryCompositionIsReadBack) {
  for (const std::size_t levels : {std::size_t{1}, std::size_t{2}, std::size_t{3}})
    for (const hier::Composition& composition : hierarchies::compositions(levels)) {
      const Table table{{}, {row(any_size, Candidate::Kind::schedule, hier::to_text(composition), 4096, 64)}};
      const auto again = table_from(to_text(table), "t.txt");
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(*again, table);
    }
}

} // namespace
} // namespace strata::tune
