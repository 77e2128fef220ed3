// SPDX-License-Identifier: BSD-3-Clause
#include "trial_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace strata::tune {
namespace {

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
  const std::size_t glance = 4 * 6;
  EXPECT_EQ(run(ranks, [](std::size_t, std::size_t way, std::size_t) { return way == 2 ? 1e-3 : 5e-3; }), glance);
  std::vector<Trial> even(2, Trial(4, 8));
  EXPECT_EQ(run(even, [](std::size_t, std::size_t, std::size_t) { return 1e-3; }), glance + 3 * 4 * 24) << "alike";
}

/// Rank 1 leaves way 0 early, as long as nobody waits for rank 0.
double seconds_of_a_long_call(const Trial& trial, std::size_t rank, std::size_t way) {
  return way == 1 ? 60e-3 : rank == 1 && !trial.is_long() ? 30e-3 : 80e-3;
}

TEST(Trial, CountsLongCallsByWhatTheyTakeWhenAllHaveLeft) {
  for (const std::size_t bytes : {std::size_t{1} << 15, std::size_t{1} << 19}) { // from 64 KiB on from the first call
    std::vector<Trial> ranks(2, Trial(2, bytes, bytes < 65536 ? Noise::shared_cores : Noise::network));
    std::size_t glances = 0;
    run(ranks, [&](std::size_t rank, std::size_t way, std::size_t) {
      if (!ranks[0].is_long()) ++glances;
      return seconds_of_a_long_call(ranks[0], rank, way);
    });
    EXPECT_EQ(ranks[0].way(), 1u);
    EXPECT_DOUBLE_EQ(ranks[1].times()[2], 80e-3) << "the best round of way 0, without the first glance";
    EXPECT_EQ(glances, bytes < 65536 ? 2u * 2 * 6 : 0u);
  }
}

TEST(Trial, DoesNotCountTheWaitForOthersAmongShortCalls) {
  std::vector<Trial> ranks(2, Trial(2, std::size_t{1} << 19, Noise::network, 0.05));
  std::size_t glances = 0; // calls of both, without a rest between
  run(ranks, [&](std::size_t rank, std::size_t way, std::size_t call) {
    if (rank == 1 && call < 2 * 2 * 3) ++glances;
    const double wait = ranks[0].is_long() ? 60e-6 : 0;
    return wait + (way == 0 ? 44e-6 : 40e-6);
  });
  EXPECT_EQ(glances, 2u * 2 * 3);
  EXPECT_EQ(ranks[0].way(), 1u);
  EXPECT_FALSE(ranks[0].is_long());
  EXPECT_NEAR(ranks[0].agreed_times()[1], 40e-6, 1e-9);
  std::vector<Trial> of_short_calls(2, Trial(2, 8));
  run(of_short_calls, [](std::size_t, std::size_t way, std::size_t) { return way == 0 ? 1.1e-3 : 1e-3; });
  EXPECT_FALSE(of_short_calls[0].is_long());
}

TEST(Trial, DoesNotRestForLongBecauseOfADisturbedGlance) {
  std::vector<Trial> ranks(2, Trial(2, 8, Noise::shared_cores, 0.05));
  std::size_t first_turns = 0; // of the best way, after the glance
  run(ranks, [&](std::size_t rank, std::size_t way, std::size_t call) {
    if (rank == 0 && call >= 2 * 6 && way == 0 && first_turns == 0) first_turns = call;
    return call == 4 ? 8e-3 : way == 0 ? 3e-6 : 4e-6; // in the glance at way 0
  });
  EXPECT_GT(first_turns, 0u);
  EXPECT_LT(first_turns, 10000u);
  EXPECT_EQ(ranks[0].way(), 0u);
}

TEST(Trial, HasCountedCallsInEveryRunWhateverWasDropped) {
  // Way 1 is dropped while calls are short; in the final they have become long.
  std::vector<Trial> ranks(2, Trial(3, 8));
  run(ranks, [&](std::size_t, std::size_t way, std::size_t call) {
    const double slow = call > 600 ? 30 : 1;
    return way == 1 ? 150e-6 : slow * (way == 0 ? 100e-6 : 110e-6);
  });
  EXPECT_NEAR(ranks[0].agreed_times()[0], 3e-3, 1e-4);
  EXPECT_NEAR(ranks[0].agreed_times()[2], 3.3e-3, 1e-4);
}

TEST(Trial, CountsCallsOfBothInAFinalOfAWayThatWasLuckyOnce) {
  std::vector<Trial> ranks(2, Trial(2, 8));
  const std::size_t calls = run(ranks, [](std::size_t, std::size_t way, std::size_t call) {
    return way == 1 ? 1.6e-3 : call < 6 ? 0.15e-3 : 1.5e-3;
  });
  EXPECT_GT(calls, 0u);
  EXPECT_EQ(ranks[0].way(), 0u);
  EXPECT_NEAR(ranks[0].agreed_times()[0], 1.5e-3, 1e-6);
  EXPECT_NEAR(ranks[0].agreed_times()[1], 1.6e-3, 1e-6);
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
  const std::size_t disturbed = 6; // calls: the first run of way 0
  run(ranks, [&](std::size_t, std::size_t way, std::size_t call) {
    return call < disturbed ? 1.2e-3 : way == 0 ? 1.0e-3 : 1.1e-3;
  });
  EXPECT_EQ(ranks[0].way(), 0u);
}

TEST(Trial, RunsShortCallsForLongerAfterTheFirstRound) {
  std::vector<Trial> ranks(2, Trial(2, 8));
  const std::size_t calls =
      run(ranks, [](std::size_t, std::size_t way, std::size_t) { return way == 0 ? 100e-6 : 112e-6; });
  EXPECT_EQ(calls, 2u * 6 + 7u * (8 + 80 + 8 + 71) + 3u * 2 * (8 + 384)) << "which is behind in three long ones";
}

TEST(Trial, HasMoreRoundsOfAFinalWhereWaysAreClose) {
  std::vector<Trial> ranks(2, Trial(2, 8));
  const std::size_t calls =
      run(ranks, [](std::size_t, std::size_t way, std::size_t) { return way == 0 ? 100e-6 : 105e-6; });
  EXPECT_EQ(calls, 2u * 6 + 7u * (8 + 80 + 8 + 76) + 7u * 2 * (8 + 384));
  std::vector<Trial> of_long_calls(2, Trial(2, 8));
  const std::size_t long_calls =
      run(of_long_calls, [](std::size_t, std::size_t way, std::size_t) { return way == 0 ? 10e-3 : 10.5e-3; });
  EXPECT_EQ(long_calls, 2u * 2 * 6 + 5u * 2 * 3 + 3u * 2 * (1 + 5)) << "and a second glance, at long calls";
}

TEST(Trial, CountsTheFasterRoundsOfAFinal) {
  std::vector<Trial> ranks(2, Trial(2, 8));
  const std::size_t final_from = 2 * 6 + 7 * (8 + 73 + 8 + 78), run_of_final = 8 + 384;
  run(ranks, [&](std::size_t, std::size_t way, std::size_t call) {
    if (way == 1) return 102e-6;
    if (call < final_from) return 110e-6;
    return (call - final_from) / run_of_final / 2 < 3 ? 93e-6 : 120e-6; // then others have the cores in its turns
  });
  EXPECT_EQ(ranks[0].way(), 0u);
  EXPECT_NEAR(ranks[0].agreed_times()[0], (3 * 93e-6 + 120e-6) / 4, 1e-7);
}

TEST(Trial, LetsLongRunsDecideBetweenThoseThatAreClose) {
  std::vector<Trial> ranks(2, Trial(3, 8));
  std::size_t before = 9, in_run = 0;
  bool was_there[3] = {};
  run(ranks, [&](std::size_t rank, std::size_t way, std::size_t call) {
    if (rank == 0) {
      in_run = way == before ? in_run + 1 : 0;
      before = way;
      if (call >= 3 * 6 + 7 * 3 * (8 + 80)) was_there[way] = true;
    }
    const double late = way == 1 && in_run > 80 ? 0.5 : 1.0; // what others left in its queues is gone then
    const double often = call < 3 * 6 ? 1.1 : 1.6; // of a way that was lucky once, and is not dropped for that
    return 100e-6 * late * (way == 0 ? 1.0 : way == 1 ? 1.1 : often);
  });
  EXPECT_EQ(ranks[0].way(), 1u);
  EXPECT_FALSE(was_there[2]);
}

TEST(Trial, HasNoFinalWithoutANetworkWhereTheDecisionIsWantedAtOnce) {
  const auto close = [](std::size_t, std::size_t way, std::size_t) { return way == 0 ? 100e-6 : 110e-6; };
  std::vector<Trial> alone(2, Trial(2, 8, Noise::little)), crowded(2, Trial(2, 8, Noise::shared_cores));
  EXPECT_EQ(run(alone, close), 2u * 6 + 3u * 2 * 24);
  EXPECT_EQ(run(crowded, close), 2u * 6 + 7u * (8 + 80 + 8 + 73));
}

// Who has the core stays so for some thousand calls; then the way that was behind is ahead, for good.
TEST(Trial, HasAFinalOfShortCallsOfRanksThatShareCores) {
  struct Ended {
    std::size_t way, tried;
  };
  const auto end_of = [](Noise noise, double share, double seconds) {
    std::vector<Trial> ranks(2, Trial(2, 8, noise, share));
    Ended ended{};
    const std::size_t calls = run(ranks, [&](std::size_t rank, std::size_t way, std::size_t) {
      if (rank == 0 && !ranks[0].rests()) ++ended.tried;
      return seconds * (way == 0 ? (ended.tried < 7 * 2 * 104 ? 1.0 : 1.3) : 1.1);
    });
    EXPECT_GT(calls, 0U);
    ended.way = ranks[0].way();
    return ended;
  };
  EXPECT_EQ(end_of(Noise::shared_cores, 0.5, 20e-6).way, 1U);
  EXPECT_EQ(end_of(Noise::shared_cores, 0.05, 20e-6).way, 1U);
  EXPECT_EQ(end_of(Noise::shared_cores, 1, 20e-6).way, 0U) << "it is wanted at once";
  EXPECT_EQ(end_of(Noise::little, 0.5, 20e-6).way, 0U);
  EXPECT_EQ(end_of(Noise::shared_cores, 0.5, 20e-3).tried, end_of(Noise::shared_cores, 1, 20e-3).tried)
      << "long calls vary little";
}

// A way is slower until it has gone through its own memory often enough to have the caches as it leaves them.
TEST(Trial, HasAFinalOfCallsThatFillCaches) {
  constexpr std::size_t calls_before_its_caches = 60;
  double cold = 1.4;
  const auto end_of = [&cold](std::size_t bytes, Noise noise, double share, double seconds) {
    std::vector<Trial> ranks(2, Trial(2, bytes, noise, share));
    std::size_t before = 2, in_run = 0;
    EXPECT_GT(run(ranks,
                  [&](std::size_t rank, std::size_t way, std::size_t) {
                    if (rank == 0) in_run = std::exchange(before, way) == way ? in_run + 1 : 0;
                    return seconds * (way == 1 ? 1.25 : in_run < calls_before_its_caches ? cold : 1.0);
                  }),
              0U);
    return ranks[0].way();
  };
  EXPECT_EQ(end_of(std::size_t{64} << 10, Noise::little, 0.05, 8e-6), 0U);
  EXPECT_EQ(end_of(std::size_t{8} << 10, Noise::little, 0.5, 1e-6), 0U);
  EXPECT_EQ(end_of(std::size_t{1} << 10, Noise::little, 0.5, 1e-6), 0U);
  EXPECT_EQ(end_of(512, Noise::little, 0.5, 8e-6), 1U) << "so little leaves the caches alone";
  EXPECT_EQ(end_of(std::size_t{64} << 10, Noise::little, 1, 8e-6), 1U) << "it is wanted at once";
  EXPECT_EQ(end_of(std::size_t{64} << 20, Noise::little, 0.05, 8e-3), 1U) << "a long call goes through all caches";
  cold = 2.4;
  EXPECT_EQ(end_of(std::size_t{4} << 10, Noise::little, 0.05, 1e-6), 0U) << "within twice of the other";
  cold = 2.7;
  EXPECT_EQ(end_of(std::size_t{4} << 10, Noise::little, 0.05, 8e-6), 1U);
}

TEST(Trial, CountsMoreOfVeryShortCallsWithoutNoise) {
  const auto calls_of = [](double seconds) {
    std::vector<Trial> ranks(2, Trial(2, 8, Noise::little));
    return run(ranks, [&](std::size_t, std::size_t way, std::size_t) { return way == 0 ? seconds : 1.1 * seconds; });
  };
  EXPECT_EQ(calls_of(0.15e-6), 2u * 6 + 3u * 2 * (8 + 96));
  EXPECT_EQ(calls_of(1e-6), 2u * 6 + 3u * (8 + 50 + 8 + 45));
  EXPECT_EQ(calls_of(10e-6), 2u * 6 + 3u * 2 * 24);
}

TEST(Trial, DropsAWayThatWasBehindInTwoRounds) {
  std::vector<Trial> ranks(2, Trial(2, 8));
  const std::size_t calls =
      run(ranks, [](std::size_t, std::size_t way, std::size_t) { return way == 0 ? 1e-3 : 2e-3; });
  EXPECT_EQ(calls, 2u * (6 + 24));
}

TEST(Trial, OutlivesADisturbedGlance) {
  for (const Noise noise : {Noise::little, Noise::shared_cores, Noise::network}) {
    const double disturbance = noise == Noise::little ? 100e-6 : 8e-3; // an interrupt, a slice of another process
    std::vector<Trial> ranks(2, Trial(2, 8, noise));
    run(ranks, [&](std::size_t, std::size_t way, std::size_t call) {
      return call == 4 ? disturbance : way == 0 ? 3e-6 : 4e-6; // in the glance at way 0
    });
    EXPECT_EQ(ranks[0].way(), 0u);
  }
}

TEST(Trial, KeepsAWayThatWasBehindInOneRoundOnly) {
  std::vector<Trial> ranks(2, Trial(2, 8));
  run(ranks, [](std::size_t, std::size_t way, std::size_t call) {
    const bool lucky = call < 2 * 6; // the first round, of way 1
    return way == 0 ? 1.0e-3 : lucky ? 0.4e-3 : 1.2e-3;
  });
  EXPECT_EQ(ranks[0].way(), 0u);
}

TEST(Trial, GivesNoPrizeForOneGoodRound) {
  std::vector<Trial> ranks(2, Trial(2, std::size_t{1} << 17));
  const std::size_t glance = 2 * 2 * 3, run_calls = 10; // a second glance, at short calls
  run(ranks, [&](std::size_t, std::size_t way, std::size_t call) {
    const bool lucky = call >= glance && call < glance + 2 * run_calls; // the second round
    return way == 1 ? 1.0e-3 : lucky ? 0.9e-3 : 1.1e-3;
  });
  EXPECT_EQ(ranks[0].way(), 1u);
}

/// What the calls of a trial with this share took beyond those of the fastest way, as a part of all; after so many
/// calls.
double cost_of_trial(double share, std::size_t most_calls, const std::vector<double>& seconds_of_way,
                     Noise noise = Noise::little) {
  std::vector<Trial> ranks(2, Trial(seconds_of_way.size(), 8, noise, share));
  const double best = *std::min_element(seconds_of_way.begin(), seconds_of_way.end());
  double spent = 0, all = 0;
  std::size_t glance = 6 * seconds_of_way.size(); // which nothing has paid for yet
  run(ranks, [&](std::size_t rank, std::size_t way, std::size_t call) {
    if (rank == 0 && call >= glance && call < most_calls) {
      spent += seconds_of_way[way] - best;
      all += seconds_of_way[way];
    }
    return seconds_of_way[way];
  });
  return spent / all;
}

TEST(Trial, CostsLittleAfterTheGlanceHoweverFewCallsThereAre) {
  for (const std::size_t calls : {50u, 200u, 1000u, 5000u, 100000u})
    for (const Noise noise : {Noise::little, Noise::shared_cores, Noise::network})
      EXPECT_LE(cost_of_trial(0.05, calls, {3e-6, 1e-6, 1.1e-6, 1.3e-6}, noise), 0.05) << calls << " calls";
}

TEST(Trial, LooksOnceMoreAtAWayThatSeemsHopeless) {
  for (const Noise noise : {Noise::little, Noise::shared_cores, Noise::network}) {
    std::vector<Trial> ranks(2, Trial(2, 8, noise, 0.05));
    std::size_t more = 0; // calls of it
    run(ranks, [&](std::size_t rank, std::size_t way, std::size_t call) {
      if (rank == 0 && way == 0 && call >= 2 * 6) ++more;
      return way == 0 ? 100e-6 : 1e-6;
    });
    EXPECT_EQ(more, noise == Noise::little ? 0u : 8u + 4) << "where a slice of another process may explain it";
  }
}

TEST(Trial, WithoutRestsCostsMore) { EXPECT_GT(cost_of_trial(1, 200, {3e-6, 1e-6, 1.1e-6, 1.3e-6}), 0.2); }

TEST(Trial, FindsTheFastestWayWithRestsAsWithout) {
  for (std::size_t fastest = 0; fastest < 4; ++fastest) {
    std::vector<Trial> ranks(3, Trial(4, 1000, Noise::network, 0.05));
    const std::size_t calls =
        run(ranks, [&](std::size_t, std::size_t way, std::size_t) { return way == fastest ? 100e-6 : 115e-6; });
    EXPECT_GT(calls, 0u);
    EXPECT_EQ(ranks[0].way(), fastest);
    EXPECT_FALSE(ranks[0].rests());
  }
}

TEST(Trial, RestsWithTheWayThatIsAhead) {
  std::vector<Trial> ranks(2, Trial(3, 8, Noise::little, 0.05));
  std::vector<std::size_t> after_glance;
  run(ranks, [&](std::size_t rank, std::size_t way, std::size_t call) {
    if (rank == 0 && call >= 3 * 6 && call < 3 * 6 + 100) after_glance.push_back(way);
    return way == 1 ? 1e-6 : 2e-6;
  });
  EXPECT_EQ(after_glance, std::vector<std::size_t>(100, 1));
}

TEST(Trial, RestsFirstWhereOneWayIsKnown) {
  Trial trial(4, 8, Noise::network, 0.05);
  trial.rest_first(3, 1e-3);
  std::size_t rest = 0;
  for (; trial.rests(); ++rest) {
    ASSERT_EQ(trial.way(), 3u);
    trial.rested();
  }
  EXPECT_EQ(rest, 19u * 3 * 6) << "(1 - 0.05) / 0.05 times a glance at three others that take twice as long";
  EXPECT_EQ(trial.way(), 0u);
  Trial at_once(4, 8, Noise::network, 1);
  at_once.rest_first(3, 1e-3);
  EXPECT_FALSE(at_once.rests());
}

} // namespace
} // namespace strata::tune
