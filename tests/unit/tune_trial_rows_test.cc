// SPDX-License-Identifier: BSD-3-Clause
// The rows of calls at the end of a trial over a network.
#include "trial_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace strata::tune {
namespace {

// The network was idle, and lets as many bytes pass at once as these ways send in so many calls.
TEST(Trial, TakesAWayBackThatWasDroppedForAnotherThatTakesLongerInARow) {
  for (const std::size_t calls_of_a_burst : {std::size_t{1000}, std::size_t{4000}}) { // in the final, in the row
    std::vector<Trial> ranks(2, Trial(3, 4096, Noise::network, 0.05));
    std::size_t sent = 0;
    const std::size_t calls = run(ranks, [&](std::size_t rank, std::size_t way, std::size_t) {
      if (way == 0) return 475e-6;
      if (rank == 0) ++sent;
      return (sent < calls_of_a_burst ? 350e-6 : 705e-6) * (way == 1 ? 1 : 1.05);
    });
    EXPECT_GT(calls, calls_of_a_burst);
    EXPECT_EQ(ranks[0].way(), 0u) << calls_of_a_burst;
    EXPECT_NEAR(ranks[0].agreed_times()[1], 705e-6, 1e-6) << calls_of_a_burst;
  }
}

/// A link that lets 20 ms of its rate pass at once, and ways whose calls take so long by themselves, and keep it busy
/// for so long.
struct Link {
  struct Way {
    double seconds, busy;
  };
  std::vector<Way> ways;
  double saved = 20e-3;
  double call(std::size_t way) {
    const double took = std::max(ways[way].seconds, ways[way].busy - saved);
    saved = std::min(saved + took - ways[way].busy, 20e-3);
    return took;
  }
};

/// The way that a trial on this link ends with, its time, and the longest stretch of each way.
struct OnLink {
  std::size_t way;
  double seconds;
  std::vector<std::size_t> longest_stretch;
};

OnLink on_link(Link link, Noise noise, double share) {
  std::vector<Trial> ranks(2, Trial(link.ways.size(), 1376, noise, share));
  OnLink found{0, 0, std::vector<std::size_t>(link.ways.size())};
  double took = 0;
  std::size_t stretch = 0, before = link.ways.size();
  run(ranks, [&](std::size_t rank, std::size_t way, std::size_t) {
    if (rank != 0) return took;
    stretch = ranks[0].rests() ? 0 : way == before ? stretch + 1 : 1;
    before = way;
    found.longest_stretch[way] = std::max(found.longest_stretch[way], stretch);
    return took = link.call(way);
  });
  found.way = ranks[0].way();
  found.seconds = ranks[0].agreed_times()[found.way];
  return found;
}

TEST(Trial, CountsAWayByARowOfCallsWhereItsRunsWereABurst) {
  const Link link{{{280e-6, 200e-6}, {230e-6, 300e-6}, {240e-6, 310e-6}}};
  const OnLink with_rows = on_link(link, Noise::network, 0.05);
  EXPECT_EQ(with_rows.way, 0u);
  EXPECT_NEAR(with_rows.seconds, 280e-6, 1e-6);
  EXPECT_EQ(on_link(link, Noise::network, 1).way, 1u)
      << "wanted as soon as possible: without rows, this test's control";
}

TEST(Trial, GivesTheLastWayARowToo) { // which its runs tell nothing of
  const OnLink found = on_link({{{100e-6, 600e-6}, {120e-6, 650e-6}, {130e-6, 700e-6}}}, Noise::network, 0.05);
  EXPECT_EQ(found.way, 0u);
  EXPECT_NEAR(found.seconds, 600e-6, 1e-6);
}

/// The calls of a row of a way of 230 us, and how many there are of its own in a trial's longest run otherwise.
constexpr std::size_t calls_of_a_row = 1900, most_calls_of_a_run = 500;

TEST(Trial, HasNoRowWhereThereIsNoNetwork) {
  const Link link{{{280e-6, 0}, {230e-6, 0}}};
  EXPECT_GT(on_link(link, Noise::network, 0.05).longest_stretch[1], calls_of_a_row);
  for (const Noise noise : {Noise::little, Noise::shared_cores})
    EXPECT_LT(on_link(link, noise, 0.05).longest_stretch[1], most_calls_of_a_run);
}

TEST(Trial, DoesNotEndWithAWayThatWasDroppedWhereThereAreNoRows) {
  for (const Noise noise : {Noise::little, Noise::shared_cores}) {
    std::vector<Trial> ranks(2, Trial(3, 1376, noise));
    run(ranks, [](std::size_t, std::size_t way, std::size_t call) {
      const double slow = call < 3 * (6 + 24) ? 1 : 2; // after way 1 was dropped
      return way == 1 ? 700e-6 : slow * (way == 0 ? 500e-6 : 550e-6);
    });
    EXPECT_EQ(ranks[0].way(), 0u);
    EXPECT_NEAR(ranks[0].agreed_times()[0], 1e-3, 1e-6);
    EXPECT_NEAR(ranks[0].agreed_times()[1], 700e-6, 1e-6);
  }
}

TEST(Trial, HasARowOfTheWinnerAloneWhereThatTakesAsLongAsItsRuns) {
  const OnLink found = on_link({{{280e-6, 0}, {230e-6, 0}, {500e-6, 0}}}, Noise::network, 0.05);
  EXPECT_EQ(found.way, 1u);
  EXPECT_GT(found.longest_stretch[1], calls_of_a_row);
  EXPECT_LT(found.longest_stretch[0], most_calls_of_a_run);
  EXPECT_LT(found.longest_stretch[2], most_calls_of_a_run);
}

TEST(Trial, HasNoRowOfCallsThatAreVeryLong) {
  EXPECT_GT(on_link({{{25e-3, 0}, {20e-3, 0}}}, Noise::network, 0.05).longest_stretch[1], 20u);
  EXPECT_LT(on_link({{{40e-3, 0}, {35e-3, 0}}}, Noise::network, 0.05).longest_stretch[1], 10u);
}

/// What a trial of two ranks did in its rows. Rank 1's calls take a little longer than rank 0's.
struct InRows {
  std::vector<Trial> ranks;
  std::vector<std::size_t> rows, calls; ///< by way
  double seconds = 0;                   ///< of all calls in rows
};

/// seconds(way, row, call): `row`: which of the way's own the call is in, 0 for none; `call`: of all its calls in rows.
InRows in_rows(std::size_t ways, const std::function<double(std::size_t, std::size_t, std::size_t)>& seconds) {
  InRows found{std::vector<Trial>(2, Trial(ways, 1376, Noise::network, 0.05)), std::vector<std::size_t>(ways),
               std::vector<std::size_t>(ways), 0};
  bool was_in_row = false;
  std::size_t way_before = ways;
  double took = 0;
  const std::size_t calls = run(found.ranks, [&](std::size_t rank, std::size_t way, std::size_t) {
    if (rank != 0) return 1.01 * took;
    const bool is_in_row = found.ranks[0].is_in_row() && !found.ranks[0].rests();
    if (is_in_row && (!was_in_row || way != way_before)) ++found.rows[way];
    was_in_row = is_in_row;
    way_before = way;
    took = seconds(way, is_in_row ? found.rows[way] : 0, is_in_row ? ++found.calls[way] : 0);
    if (is_in_row) found.seconds += took;
    return took;
  });
  EXPECT_GT(calls, 0u);
  return found;
}

TEST(Trial, OutlivesADisturbedPartOfARow) {
  bool was_disturbed = false;
  const InRows found = in_rows(2, [&](std::size_t way, std::size_t, std::size_t call) {
    was_disturbed |= call == 1500;
    return call == 1500 ? 50e-3 : way == 1 ? 230e-6 : 250e-6; // in the later half of a row
  });
  EXPECT_TRUE(was_disturbed);
  EXPECT_EQ(found.ranks[0].way(), 1u);
  EXPECT_EQ(found.rows, (std::vector<std::size_t>{0, 1}));
  EXPECT_NEAR(found.ranks[0].agreed_times()[1], 230e-6, 1e-6);
}

TEST(Trial, RepeatsADisturbedRow) {
  for (const double disturbed : {290e-6, 400e-6}) {
    const InRows found = in_rows(2, [&](std::size_t way, std::size_t row, std::size_t) {
      return way == 0 ? 250e-6 : row == 1 ? disturbed : 230e-6;
    });
    EXPECT_EQ(found.ranks[0].way(), disturbed < 300e-6 ? 1u : 0u);
    EXPECT_EQ(found.rows, (std::vector<std::size_t>{1, disturbed < 300e-6 ? 2u : 1u})) << disturbed;
  }
}

TEST(Trial, CountsARowThatIsFasterThanItsRuns) {
  bool has_row = false; // since then nobody else uses the network
  const InRows found = in_rows(2, [&](std::size_t way, std::size_t row, std::size_t) {
    has_row |= row > 0;
    return (has_row ? 0.5 : 1) * (way == 0 ? 300e-6 : 310e-6);
  });
  EXPECT_EQ(found.ranks[0].way(), 0u);
  EXPECT_EQ(found.rows, (std::vector<std::size_t>{1, 0}));
  EXPECT_NEAR(found.ranks[0].agreed_times()[0], 150e-6, 1e-6);
}

TEST(Trial, GivesEachWayTwoRowsAtMost) {
  const InRows found = in_rows(3, [&](std::size_t way, std::size_t row, std::size_t) {
    return row == 0 ? 100e-6 + 1e-6 * static_cast<double>(way) : 110e-6 + 1e-6 * static_cast<double>(way);
  });
  EXPECT_EQ(found.ranks[0].way(), 0u);
  EXPECT_EQ(found.rows, (std::vector<std::size_t>{1, 2, 2}));
}

TEST(Trial, LeavesARowOfAWayThatHasBecomeVerySlow) {
  const InRows found = in_rows(2, [&](std::size_t way, std::size_t row, std::size_t) {
    return way == 0 ? (row == 0 ? 230e-6 : 50 * 230e-6) : 250e-6;
  });
  EXPECT_EQ(found.ranks[0].way(), 1u);
  EXPECT_LT(found.seconds - 0.5, 50 * 5e-3) << "a sixteenth of a part, of what it took before";
}

} // namespace
} // namespace strata::tune
