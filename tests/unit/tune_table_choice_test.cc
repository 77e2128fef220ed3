// SPDX-License-Identifier: BSD-3-Clause
// What a table makes of a choice.
#include "situations.h"
#include "tune/table.h"

#include <gtest/gtest.h>

namespace strata::tune {
namespace {

constexpr std::size_t kibibyte = 1024;

/// Two racks of two nodes of two ranks, with the same job without racks beside it.
Situation with_two_racks() {
  Situation situation = cluster({2, 2, 2});
  std::vector<topo::Level>& levels = situation.job.hierarchy.levels;
  levels[1].link = topo::LinkKind::network;
  levels[2].link = topo::LinkKind::uplink;
  situation.plain = cluster({2, 4}).job;
  return situation;
}

Way way(const std::string& words) {
  const auto parsed = way_from(words);
  EXPECT_TRUE(parsed) << words;
  return parsed ? *parsed : Way{};
}

/// The choice for so many bytes, after a table with these rows.
Choice choice_after(const std::string& rows, const Situation& situation, std::size_t bytes,
                    const Options& options = {}) {
  const auto lines = std::to_string(std::count(rows.begin(), rows.end(), '\n') + 1);
  const auto table = table_from("strata-table 1\nmachine\n" + rows + "end " + lines + "\n", "t.txt");
  EXPECT_TRUE(table) << table.error().message;
  Choice choice = choose(situation, options, size_class(bytes));
  prefer(choice, *table, "t.txt", situation, options, size_class(bytes));
  return choice;
}

std::string refusal(const std::string& words, const Situation& situation, const Options& options = {}) {
  const auto candidate = candidate_of(way(words), situation, options, size_class(kibibyte));
  return candidate ? "it was taken" : candidate.error().message;
}

TEST(TableChoice, IsWhatTheTableSaysAndWhere) {
  const std::string rows = "up-to 8K direct+ring slice=64K window=3\nabove native\n";
  const Choice small = choice_after(rows, cluster({4, 8}), 8 * kibibyte);
  EXPECT_EQ(small.chosen.name(), "direct+ring slice 64K window 3");
  EXPECT_EQ(small.source, "t.txt line 3");
  const Choice large = choice_after(rows, cluster({4, 8}), 64 * kibibyte);
  EXPECT_EQ(large.chosen.kind, Candidate::Kind::native);
  EXPECT_EQ(large.source, "t.txt line 4");
}

TEST(TableChoice, OfAClassIsThatOfItsSmallestSize) {
  const std::string rows = "up-to 8K native\nabove direct+ring\n";
  EXPECT_EQ(choice_after(rows, cluster({4, 8}), 9 * kibibyte).source, "t.txt line 3") << "8K to 10K - 1 is one class";
  EXPECT_EQ(choice_after(rows, cluster({4, 8}), 10 * kibibyte).source, "t.txt line 4");
}

TEST(TableChoice, KeepsTheOthersAsRunnersUpAndNoneTwice) {
  const Situation situation = cluster({4, 8});
  const Choice before = choose(situation, {}, size_class(kibibyte));
  const Choice after = choice_after("above " + to_text(way_of(before.runners_up[2])) + "\n", situation, kibibyte);
  EXPECT_EQ(after.chosen.name(), before.runners_up[2].name());
  ASSERT_EQ(after.runners_up.size(), before.runners_up.size());
  EXPECT_EQ(after.runners_up[0].name(), before.chosen.name());
  for (const Candidate& other : after.runners_up)
    EXPECT_NE(other.name(), after.chosen.name());
}

TEST(TableChoice, IsByPredictionWhereTheTableEnds) {
  const Choice choice = choice_after("up-to 8K native\n", cluster({4, 8}), 64 * kibibyte);
  EXPECT_EQ(choice.source, "");
  EXPECT_EQ(choice.note, "");
  EXPECT_EQ(choice.chosen.name(), choose(cluster({4, 8}), {}, size_class(64 * kibibyte)).chosen.name());
}

TEST(TableChoice, IsByPredictionAndSaysSoWhereTheWayDoesNotGoWithTheLevels) {
  const Choice choice = choice_after("above direct+ring+ring\n", cluster({4, 8}), kibibyte);
  EXPECT_EQ(choice.source, "");
  EXPECT_EQ(choice.note, "t.txt line 3 is not possible here: 'direct+ring+ring' names 3 levels, but there are 2 (give "
                         "one name, or one per level)");
}

TEST(TableChoice, LeavesSliceAndWindowToTheModelWhereTheTableDoes) {
  const Situation situation = cluster({4, 8});
  const Choice choice = choice_after("above direct+ring\n", situation, 1024 * kibibyte);
  EXPECT_GE(choice.chosen.slice_bytes, 4096u);
  EXPECT_GE(choice.chosen.window, 2u);
  EXPECT_GT(choice.chosen.seconds, 0);
}

TEST(TableChoice, OfSliceAndWindowIsTheUsersWhereOptionsHaveThem) {
  Options options;
  options.slice = 8192;
  options.window = 7;
  const Choice choice = choice_after("above direct+ring slice=64K window=3\n", cluster({4, 8}), kibibyte, options);
  EXPECT_EQ(choice.chosen.name(), "direct+ring slice 8K window 7");
}

TEST(TableWay, ThatIsNotPossibleSaysWhy) {
  Situation situation = cluster({4, 2});
  EXPECT_EQ(refusal("board", situation), "the ranks do not share the memory of one node, as board needs");
  situation.board_possible = true;
  EXPECT_EQ(refusal("board", situation), "it was taken");
  Options always;
  always.mode = Mode::always;
  EXPECT_EQ(refusal("native", situation, always), "STRATA_MODE=always excludes native");
  situation.native_possible = false;
  EXPECT_EQ(refusal("native", situation), "there is no MPI library to hand a call to");
}

TEST(TableWay, MayIgnoreTheRacks) {
  const Situation situation = with_two_racks();
  const auto over_racks = candidate_of(way("ring"), situation, {}, size_class(kibibyte));
  ASSERT_TRUE(over_racks);
  EXPECT_FALSE(over_racks->plain);
  EXPECT_EQ(hier::to_text(over_racks->composition), "ring+ring+ring");
  const auto plain = candidate_of(way("ring racks=ignored"), situation, {}, size_class(kibibyte));
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->plain);
  EXPECT_EQ(hier::to_text(plain->composition), "ring+ring");
  const auto without = candidate_of(way("ring racks=ignored"), cluster({2, 4}), {}, size_class(kibibyte));
  ASSERT_TRUE(without) << "where no racks are known, none need be ignored";
  EXPECT_FALSE(without->plain);
}

TEST(TableWay, OfEveryCandidateMakesTheSameCandidate) {
  for (const Situation& situation : {with_two_racks(), cluster({16}), cluster({4, 2}), cluster({2, 12})}) {
    const Choice choice = choose(situation, {}, size_class(64 * kibibyte));
    for (const Candidate& candidate : choice.runners_up) {
      const auto again = candidate_of(way(to_text(way_of(candidate))), situation, {}, size_class(64 * kibibyte));
      ASSERT_TRUE(again) << candidate.name() << ": " << again.error().message;
      EXPECT_EQ(again->name(), candidate.name());
      EXPECT_EQ(again->plain, candidate.plain);
      EXPECT_EQ(again->seconds, candidate.seconds);
    }
  }
}

TEST(TableMachine, HasTheRacksThatTheHierarchyHas) {
  EXPECT_EQ(racks_of(with_two_racks().job.hierarchy), 2u);
  EXPECT_EQ(racks_of(cluster({2, 4}).job.hierarchy), 0u);
}

TEST(TableMachine, NamesMpiLibrariesShortly) {
  EXPECT_EQ(mpi_name_from("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "openmpi-4.1");
  EXPECT_EQ(mpi_name_from("Open MPI v5.0.0rc1, package"), "openmpi-5.0");
  EXPECT_EQ(mpi_name_from("MPICH Version:\t4.0.2\nMPICH Release date:\tThu"), "mpich-4.0");
  EXPECT_EQ(mpi_name_from("MVAPICH2 Version      :\t2.3.7\n"), "mvapich2-2.3");
  EXPECT_EQ(mpi_name_from("Intel(R) MPI Library 2021.9 for Linux* OS\n"), "intelmpi-2021.9");
  EXPECT_EQ(mpi_name_from("Something"), "something");
  EXPECT_EQ(mpi_name_from(""), "");
}

} // namespace
} // namespace strata::tune
