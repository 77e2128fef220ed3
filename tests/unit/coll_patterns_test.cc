// SPDX-License-Identifier: BSD-3-Clause
// Who talks to whom: what the papers say about the families whose point that is. (That they are right is proved in
// coll_verified_test.cc, and what they cost is counted in coll_cost_test.cc.)
#include "programs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

namespace strata::coll {
namespace {

using sched::Program;
using sched::Step;

std::vector<Step> sends_of(const Program& program) {
  std::vector<Step> sends;
  for (const Step& step : program.steps)
    if (step.kind == sched::Kind::send) sends.push_back(step);
  return sends;
}

/// Around the ring, the shorter way.
int distance(int a, int b, int members) {
  const int ahead = std::abs(a - b);
  return std::min(ahead, members - ahead);
}

/// The number whose digits of base -2 are the bits of `digits`.
int from_base_minus_two(int digits) {
  int number = 0;
  for (int bit = 0, power = 1; digits >> bit != 0; ++bit, power *= -2)
    if ((digits >> bit & 1) != 0) number += power;
  return number;
}

TEST(BineTree, OfAPowerOfTwoIsThePapersWhoseParentFlipsTheEqualLastDigitsOfBaseMinusTwo) {
  for (int digits = 1; digits <= 8; ++digits) {
    const int members = 1 << digits;
    const auto member_of = [&](int number) { return (from_base_minus_two(number) % members + members) % members; };
    const auto programs = programs_of(find("bine")->reduce, members);
    for (int number = 1; number < members; ++number) {
      int equal = 1;
      while (equal < digits && (number >> equal & 1) == (number & 1))
        ++equal;
      const auto sends = sends_of(programs[static_cast<std::size_t>(member_of(number))]);
      ASSERT_EQ(sends.size(), 1u);
      EXPECT_EQ(sends[0].peers, std::vector{member_of(number ^ ((1 << equal) - 1))})
          << member_of(number) << " of " << members;
    }
  }
}

TEST(BineTree, GoesAboutTwoThirdsOfTheWayOfABinomialOne) {
  for (int members : {48, 64, 100, 256, 1000}) {
    std::map<std::string, double> way;
    for (const char* name : {"bine", "binomial"})
      for (const Program& program : programs_of(find(name)->broadcast, members))
        for (const Step& send : sends_of(program))
          for (std::int32_t peer : send.peers)
            way[name] += distance(program.rank, peer, members);
    EXPECT_LT(way["bine"], 0.8 * way["binomial"]) << members;
  }
}

TEST(BineButterfly, SendsOneRangeAStepInTheAllReduceOfAPowerOfTwo) {
  for (int members : {2, 4, 8, 32, 64})
    for (const Program& program : programs_of(find("bine")->all_reduce, members)) {
      std::set<int> rounds;
      for (const Step& send : sends_of(program))
        EXPECT_TRUE(rounds.insert(send.tag.round).second) << sched::to_text(send);
    }
}

TEST(BineButterfly, SendsAtMostThreeRangesAStepWhateverTheMembers) {
  // One interval of the ring; cut where the range ends, and between chunks that are sums already and that are not.
  for (int members = 2; members <= 64; members += 2)
    for (const Form& form : {find("bine")->reduce_scatter, find("bine")->all_gather})
      for (const Program& program : programs_of(form, members)) {
        std::map<int, int> ranges;
        for (const Step& send : sends_of(program))
          EXPECT_LE(++ranges[send.tag.round], 3) << members << " members: " << sched::to_text(send);
      }
}

TEST(Swing, SwingsToAndFroOverTheSumsOfThePowersOfMinusTwo) {
  const int sums[] = {1, -1, 3, -5, 11, -21};
  for (int members = 2; members <= 64; members += 2)
    for (const Program& program : programs_of(find("swing")->reduce_scatter, members))
      for (const Step& send : sends_of(program)) {
        const int way = program.rank % 2 == 0 ? sums[send.tag.round] : -sums[send.tag.round];
        EXPECT_EQ(send.peers, std::vector{((program.rank + way) % members + members) % members})
            << members << " members: " << sched::to_text(send);
      }
}

TEST(DoubleBinaryTree, HasNoMemberWithChildrenInBothTrees) {
  for (int members = 2; members <= 64; ++members)
    for (const Program& program : programs_of(find("double_binary_tree")->all_reduce, members)) {
      int sums = 0;
      for (const Step& step : program.steps)
        if (step.kind == sched::Kind::reduce) ++sums;
      EXPECT_LE(sums, 1) << "member " << program.rank << " of " << members;
    }
}

TEST(Torus, TalksToNeighboursInTheRowAndTheColumnOnly) {
  // 64 = 8 * 8
  for (const Program& program : programs_of(find("torus")->all_reduce, 64))
    for (const Step& send : sends_of(program)) {
      const int row = program.rank / 8, column = program.rank % 8;
      EXPECT_TRUE(send.peers == std::vector{8 * row + (column + 1) % 8} ||
                  send.peers == std::vector{8 * ((row + 1) % 8) + column})
          << "member " << program.rank << ": " << sched::to_text(send);
    }
}

TEST(Circulant, HalvesTheDistancesRoundedUp) {
  const int of_eleven[] = {6, 3, 2, 1};
  for (const Program& program : programs_of(find("circulant")->reduce_scatter, 11))
    for (const Step& send : sends_of(program))
      EXPECT_EQ(send.peers, std::vector{(program.rank + of_eleven[send.tag.round]) % 11}) << sched::to_text(send);
}

TEST(RecursiveMultiplying, HasTheFewestRoundsOfItsRadices) {
  const std::pair<int, int> rounds_of[] = {{4, 1}, {6, 2}, {12, 2}, {16, 2}, {20, 2}, {35, 2}, {60, 3}, {64, 3}};
  for (const auto& [members, rounds] : rounds_of)
    EXPECT_EQ(find("recursive_multiplying")->all_reduce.cost(members).rounds, rounds) << members;
  EXPECT_EQ(find("recursive_multiplying_8")->all_reduce.cost(64).rounds, 2);
  EXPECT_EQ(find("recursive_multiplying_8")->all_reduce.cost(60).rounds, 3); // 2 * 5 * 6, for 12 is too large
}

} // namespace
} // namespace strata::coll
