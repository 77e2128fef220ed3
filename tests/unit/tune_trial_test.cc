// SPDX-License-Identifier: BSD-3-Clause
#include "tune/trial.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace strata::tune {
namespace {

/// Runs a trial on several ranks; seconds(rank, way, call). Gives the calls that were made, or 0 if ranks disagreed.
std::size_t run(std::vector<Trial>& ranks,
                const std::function<double(std::size_t, std::size_t, std::size_t)>& seconds) {
  for (std::size_t call = 0; call < 10000; ++call) {
    bool round_over = false;
    const std::size_t way = ranks[0].way();
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].way() != way) return 0;
      round_over = ranks[rank].add(seconds(rank, way, call));
    }
    if (!round_over) continue;
    std::vector<double> all;
    for (const Trial& rank : ranks)
      all.insert(all.end(), rank.times().begin(), rank.times().end());
    bool over = false;
    for (Trial& rank : ranks)
      over = rank.settle(all);
    if (over) return call + 1;
  }
  return 0;
}

TEST(Trial, KeepsTheFastestWayOnAllRanks) {
  for (std::size_t bytes : {std::size_t{8}, std::size_t{1} << 17, std::size_t{1} << 24})
    for (std::size_t fastest = 0; fastest < 5; ++fastest) {
      std::vector<Trial> ranks(3, Trial(5, bytes));
      ASSERT_GT(
          run(ranks, [&](std::size_t rank, std::size_t way,
                         std::size_t) { return (way == fastest ? 1.0 : 1.1) + 0.01 * static_cast<double>(rank); }),
          0u);
      for (const Trial& rank : ranks)
        EXPECT_EQ(rank.way(), fastest);
    }
}

TEST(Trial, IsOverAfterOneRoundWhenOneWayIsFarAhead) {
  std::vector<Trial> ranks(2, Trial(4, 8));
  const std::size_t calls = run(ranks, [](std::size_t, std::size_t way, std::size_t) { return way == 2 ? 1.0 : 5.0; });
  EXPECT_EQ(calls % 4, 0u);
  std::vector<Trial> even(2, Trial(4, 8));
  EXPECT_EQ(run(even, [](std::size_t, std::size_t, std::size_t) { return 1e-3; }), 4 * calls) << "alike";
}

TEST(Trial, CountsLongCallsByWhatTheyTakeWhenAllHaveLeft) {
  std::vector<Trial> ranks(2, Trial(2, std::size_t{1} << 19));
  // Rank 1 leaves way 0 early, as long as nobody waits for rank 0.
  run(ranks, [&](std::size_t rank, std::size_t way, std::size_t) {
    return way == 1 ? 60e-3 : rank == 1 && !ranks[0].is_long() ? 30e-3 : 80e-3;
  });
  EXPECT_EQ(ranks[0].way(), 1u);
  EXPECT_DOUBLE_EQ(ranks[0].agreed_times()[0], 80e-3) << "without the first round";

  std::vector<Trial> of_short_calls(2, Trial(2, 8));
  run(of_short_calls, [](std::size_t, std::size_t way, std::size_t) { return way == 0 ? 1.1e-3 : 1e-3; });
  EXPECT_FALSE(of_short_calls[0].is_long());
}

TEST(Trial, SeesThroughARankThatIsAlwaysLate) {
  // The others wait for rank 1, whatever the way; only rank 1 itself feels the difference.
  std::vector<Trial> ranks(2, Trial(2, 8));
  run(ranks, [](std::size_t rank, std::size_t way, std::size_t) {
    return rank == 0 ? (way == 0 ? 100.0 : 100.5) : (way == 0 ? 2.0 : 1.0);
  });
  EXPECT_EQ(ranks[0].way(), 1u);
}

TEST(Trial, DoesNotCountTheFirstCallsOfARun) {
  std::vector<Trial> ranks(1, Trial(2, 8));
  std::size_t before = 9;
  run(ranks, [&](std::size_t, std::size_t way, std::size_t) {
    const bool first = way != before;
    before = way;
    return first ? (way == 0 ? 1000.0 : 1.0) : (way == 0 ? 1.0 : 1.9);
  });
  EXPECT_EQ(ranks[0].way(), 0u);
}

TEST(Trial, OutlivesADisturbedRound) {
  std::vector<Trial> ranks(2, Trial(2, 8));
  const std::size_t disturbed = 24; // calls: the first run of way 0
  run(ranks, [&](std::size_t, std::size_t way, std::size_t call) {
    return call < disturbed ? 1.2 : way == 0 ? 1.0 : 1.1;
  });
  EXPECT_EQ(ranks[0].way(), 0u);
}

TEST(Trial, RunsShortCallsForLongerAfterTheFirstRound) {
  std::vector<Trial> ranks(2, Trial(2, 8));
  const std::size_t calls =
      run(ranks, [](std::size_t, std::size_t way, std::size_t) { return way == 0 ? 100e-6 : 110e-6; });
  EXPECT_EQ(calls, 2u * 24 + 6u * 2 * (8 + 80) + 3u * 2 * (8 + 384));
}

TEST(Trial, LetsLongRunsDecideBetweenThoseThatAreClose) {
  std::vector<Trial> ranks(2, Trial(3, 8));
  std::size_t before = 9, in_run = 0;
  bool was_there[3] = {};
  run(ranks, [&](std::size_t rank, std::size_t way, std::size_t call) {
    if (rank == 0) {
      in_run = way == before ? in_run + 1 : 0;
      before = way;
      if (call >= 3 * 24 + 6 * 3 * (8 + 80)) was_there[way] = true;
    }
    const double late = way == 1 && in_run > 80 ? 0.5 : 1.0; // what others left in its queues is gone then
    const double often = call < 3 * 24 ? 1.1 : 1.6; // of a way that was lucky once, and is not dropped for that
    return 100e-6 * late * (way == 0 ? 1.0 : way == 1 ? 1.1 : often);
  });
  EXPECT_EQ(ranks[0].way(), 1u);
  EXPECT_FALSE(was_there[2]);
}

TEST(Trial, HasNoFinalWithoutANetwork) {
  const auto close = [](std::size_t, std::size_t way, std::size_t) { return way == 0 ? 100e-6 : 110e-6; };
  std::vector<Trial> alone(2, Trial(2, 8, Noise::little)), crowded(2, Trial(2, 8, Noise::shared_cores));
  EXPECT_EQ(run(alone, close), 3u * 2 * 24);
  EXPECT_EQ(run(crowded, close), 2u * 24 + 6u * 2 * (8 + 80));
}

TEST(Trial, DropsAWayThatWasBehindInTwoRounds) {
  std::vector<Trial> ranks(2, Trial(2, 8));
  const std::size_t calls = run(ranks, [](std::size_t, std::size_t way, std::size_t) { return way == 0 ? 1.0 : 2.0; });
  EXPECT_EQ(calls, 2u * 2 * 24);
}

TEST(Trial, KeepsAWayThatWasBehindInOneRoundOnly) {
  std::vector<Trial> ranks(2, Trial(2, 8));
  run(ranks, [](std::size_t, std::size_t way, std::size_t call) {
    const bool lucky = call < 2 * 24; // the first round, of way 1
    return way == 0 ? 1.0 : lucky ? 0.4 : 1.2;
  });
  EXPECT_EQ(ranks[0].way(), 0u);
}

TEST(Trial, GivesNoPrizeForOneGoodRound) {
  std::vector<Trial> ranks(2, Trial(2, std::size_t{1} << 17));
  const std::size_t run_calls = 8;
  run(ranks, [&](std::size_t, std::size_t way, std::size_t call) {
    const bool lucky = call / (2 * run_calls) == 1; // the second round of seven
    return way == 1 ? 1.0 : lucky ? 0.9 : 1.1;
  });
  EXPECT_EQ(ranks[0].way(), 1u);
}

} // namespace
} // namespace strata::tune
