// SPDX-License-Identifier: BSD-3-Clause
// What contexts do with a table of ways: rank 0 reads it, and all ranks do as it says.
#include "context_calls.h"
#include "new_folder.h"
#include "thread_bootstrap.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace strata::comm {
namespace {

namespace fs = std::filesystem;

constexpr int ranks = 4;
constexpr std::int64_t small = 1000, large = 20000; // of float32

class ContextTable : public testing::Test {
protected:
  ContextTable() {
    options_.tune = Tune::file;
    options_.table = (folder_ / "table").string();
  }
  ~ContextTable() override { fs::remove_all(folder_); }

  /// A table of these lines, the first of which is "machine".
  void write(const std::string& lines) const {
    std::ofstream(options_.table) << "strata-table 1\n"
                                  << lines << "end " << std::count(lines.begin(), lines.end(), '\n') << "\n";
  }

  /// What the ranks' calls of two sizes ran as, rank after rank: the same on all.
  std::string what_ran(ThreadJob& job, int calls = 1) {
    std::vector<std::string> ran(static_cast<std::size_t>(job.ranks()));
    job.run_in_context([&](Context& context) {
      for (int call = 0; call < calls; ++call)
        for (const std::int64_t count : {small, large})
          EXPECT_EQ(fault_of(context, {count}), "");
      for (const auto& [name, tally] : context.statistics().by_algorithm)
        ran[static_cast<std::size_t>(context.rank())] += name + "\n";
      if (context.rank() != 0) return;
      warnings_ = context.warnings();
      notes_ = context.notes();
      source_ = context.choice_for(4 * small).source;
    });
    for (const std::string& one : ran)
      EXPECT_EQ(one, ran[0]);
    return ran[0];
  }
  std::string what_ran(int calls = 1) {
    ThreadJob job(ranks, options_);
    return what_ran(job, calls);
  }

  /// The one warning, in front of which stands that the table is not used.
  std::string why_not() const {
    if (warnings_.size() != 1) return fmt::format("{} warnings", warnings_.size());
    const std::string begin = fmt::format("STRATA_TABLE={} is not used: ", options_.table);
    return warnings_[0].starts_with(begin) ? warnings_[0].substr(begin.size()) : warnings_[0];
  }

  Options options_ = ThreadJob::options_for_tests();
  const fs::path folder_ = new_folder("strata-tables");
  std::vector<std::string> warnings_, notes_;
  std::string source_;
};

TEST_F(ContextTable, DecidesForEachSize) {
  write("machine\nup-to 8K binomial slice=8K window=3\nabove ring slice=16K window=2\n");
  EXPECT_EQ(what_ran(), "binomial.exchange slice 8K window 3\nring slice 16K window 2\n");
  EXPECT_EQ(source_, options_.table + " line 3");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(ContextTable, IsReadByRankZeroAlone) {
  write("machine\nabove ring slice=16K window=2\n");
  ThreadJob job(ranks, options_);
  job.run([&](int rank, const auto&) {
    if (rank == 0) (void)job.process(0).known_table().find(options_.table);
  });
  fs::remove(options_.table);
  EXPECT_EQ(what_ran(job), "ring slice 16K window 2\n");
}

TEST_F(ContextTable, ThatIsBrokenIsRefusedByLineAndTheJobGoesOn) {
  write("machine\nup-to 8K board\nabove rong\n");
  EXPECT_NE(what_ran(), "");
  EXPECT_TRUE(why_not().starts_with(options_.table + ":4: level 0: no algorithm is called 'rong'")) << why_not();
}

TEST_F(ContextTable, ThatIsNotThereIsSaid) {
  EXPECT_NE(what_ran(), "");
  EXPECT_EQ(why_not(), "No such file or directory");
}

TEST_F(ContextTable, ThatIsNoFileIsSaid) {
  options_.table = folder_.string();
  EXPECT_NE(what_ran(), "");
  EXPECT_EQ(why_not(), "it is no ordinary file");
}

TEST_F(ContextTable, OfAnotherMachineIsNotUsed) {
  write("machine nodes=2\nabove ring slice=16K window=2\n");
  ThreadJob job(ranks, options_);
  for (int rank = 0; rank < ranks; ++rank)
    job.process(rank).set_place_in_job(rank, ranks);
  EXPECT_EQ(what_ran(job).find("ring slice 16K window 2"), std::string::npos);
  EXPECT_EQ(why_not(), "the table is for nodes=2, and here it is 1");
}

TEST_F(ContextTable, OfAnotherMachineIsNoTroubleForAPartOfTheRanks) {
  write("machine ranks-per-node=8\nabove ring slice=16K window=2\n");
  ThreadJob job(ranks, options_);
  for (int rank = 0; rank < ranks; ++rank)
    job.process(rank).set_place_in_job(rank, 2 * ranks);
  EXPECT_EQ(what_ran(job).find("ring slice 16K window 2"), std::string::npos);
  EXPECT_TRUE(warnings_.empty());
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("the table is for ranks-per-node=8, and here it is 4"), std::string::npos) << notes_[0];
}

TEST_F(ContextTable, OfAnotherMpiLibraryIsNotUsed) {
  write("machine mpi=openmpi-4.1\nabove ring slice=16K window=2\n");
  EXPECT_EQ(what_ran().find("ring slice 16K window 2"), std::string::npos);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("the table is for mpi=openmpi-4.1, and here it is not known"), std::string::npos);
}

TEST_F(ContextTable, WhoseWayIsForOtherLevelsLeavesThatSizeToTheOthers) {
  write("machine\nup-to 8K ring+ring\nabove ring slice=16K window=2\n");
  const std::string ran = what_ran();
  EXPECT_NE(ran, "ring slice 16K window 2\n") << "the small size needs a way too";
  EXPECT_NE(ran.find("ring slice 16K window 2\n"), std::string::npos) << ran;
  EXPECT_EQ(source_, "");
}

TEST_F(ContextTable, LeavesWhatItDoesNotCoverToATrial) {
  write("machine\nup-to 8K binomial slice=8K window=3\n");
  ThreadJob job(ranks, options_);
  job.run_in_context([&](Context& context) {
    for (const std::int64_t count : {small, large})
      EXPECT_EQ(fault_of(context, {count}), "");
    EXPECT_FALSE(context.on_trial(4 * small));
    EXPECT_EQ(context.way_text(4 * small), "binomial.exchange slice=8K window=3");
    EXPECT_TRUE(context.on_trial(4 * large));
    EXPECT_EQ(context.way_text(4 * large), "") << "it is open";
  });
}

TEST_F(ContextTable, IsTriedFirstWithOnline) {
  options_.tune = Tune::online;
  write("machine\nabove recursive_multiplying slice=8K window=3\n");
  ThreadJob job(ranks, options_);
  job.run_in_context([&](Context& context) {
    EXPECT_EQ(fault_of(context, {large}), "");
    EXPECT_TRUE(context.on_trial(4 * large));
    const auto& ran = context.statistics().by_algorithm;
    ASSERT_EQ(ran.size(), 1u);
    EXPECT_EQ(ran.begin()->first, "recursive_multiplying.exchange slice 8K window 3");
  });
}

TEST_F(ContextTable, DoesNotCountWherePredictionsOrOptionsDecide) {
  write("machine\nabove ring slice=16K window=2\n");
  const auto not_read = [&](const Options& options) {
    ThreadJob job(ranks, options);
    EXPECT_EQ(what_ran(job).find("ring slice 16K window 2"), std::string::npos);
    EXPECT_TRUE(warnings_.empty());
    EXPECT_EQ(notes_.size(), 1u);
  };
  Options options = options_;
  options.tune = Tune::model;
  not_read(options);
  options.tune = Tune::off;
  not_read(options);
  options = options_;
  options.algorithm = "direct";
  not_read(options);
  options = options_;
  options.reproducible = true;
  not_read(options);
}

TEST_F(ContextTable, IsWantedWhereItIsToDecide) {
  options_.table.clear();
  EXPECT_NE(what_ran(), "");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(warnings_[0], "STRATA_TUNE=file needs STRATA_TABLE=FILE; going on as with STRATA_TUNE=online");
}

TEST_F(ContextTable, MayBePutAsideForOneWayAfterTheOther) {
  options_.table.clear();
  options_.tune = Tune::online;
  ThreadJob job(ranks, options_);
  job.run_in_context([&](Context& context) {
    for (int turn = 0; turn < 3; ++turn)
      for (const std::string way :
           {"ring slice=16K window=2", "board around=both", "board demoted=published", "direct slice=8K window=2"}) {
        EXPECT_TRUE(context.use_way(4 * large, way)) << way;
        EXPECT_EQ(context.way_text(4 * large), way + (way.find("board") == std::string::npos ? " around=nothing" : ""));
        EXPECT_EQ(fault_of(context, {large}), "") << way;
      }
    EXPECT_EQ(context.way_text(4 * small), "") << "of another size nothing was decided";
    EXPECT_FALSE(context.use_way(4 * large, "ring+ring"));
    EXPECT_FALSE(context.use_way(4 * large, "rong"));
    EXPECT_FALSE(context.use_way(4 * large, "native")) << "there is none here";
    EXPECT_EQ(fault_of(context, {large}), "") << "the last stays";
    const auto ran = context.statistics().by_algorithm;
    EXPECT_EQ(ran.at("ring slice 16K window 2").calls, 3u);
    EXPECT_EQ(ran.at("board").calls, 6u);
    EXPECT_EQ(ran.size(), 3u);
  });
}

// Payloads in one line of a slot, in two and in the ring, and longer than what is exchanged at once.
TEST_F(ContextTable, MayDemoteWhatIsPublished) {
  write("machine\nabove board demoted=published\n");
  ThreadJob job(ranks, options_);
  job.run_in_context([&](Context& context) {
    for (int turn = 0; turn < 3; ++turn)
      for (const std::int64_t count : {1, 14, 15, 30, 31, 256, 300, 512, 513, 1024, 40000}) {
        EXPECT_EQ(fault_of(context, {count}), "") << count;
        EXPECT_EQ(context.way_text(4 * static_cast<std::size_t>(count)), "board demoted=published") << count;
      }
    EXPECT_EQ(context.statistics().by_algorithm.size(), 1u);
  });
}

} // namespace
} // namespace strata::comm
