// SPDX-License-Identifier: BSD-3-Clause
// What is considered for a call: enough, nothing twice, and no more for more levels.
#include "tune/choice.h"

#include <gtest/gtest.h>

#include <ctime>

namespace strata::tune {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Factors, innermost first, of which the outermost joins nodes.
Situation cluster(const std::vector<int>& factors) {
  Situation situation;
  topo::Hierarchy& hierarchy = situation.job.hierarchy;
  for (int factor : factors)
    hierarchy.ranks *= factor;
  int members = 1;
  for (int factor : factors) {
    members *= factor;
    topo::Level level;
    for (std::int32_t rank = 0; rank < hierarchy.ranks; ++rank)
      level.group_of.push_back(rank / members);
    level.groups = hierarchy.ranks / members;
    level.link = level.groups == 1 ? topo::LinkKind::network : topo::LinkKind::shared_memory;
    hierarchy.levels.push_back(std::move(level));
    situation.job.members.push_back(factor);
  }
  situation.job.nodes = factors.back();
  situation.job.ranks_per_node = hierarchy.ranks / factors.back();
  situation.parameters = default_parameters();
  return situation;
}

std::vector<Candidate> candidates(const Situation& situation, std::size_t bytes) {
  const Choice choice = choose(situation, Options{}, size_class(bytes));
  std::vector<Candidate> all{choice.chosen};
  all.insert(all.end(), choice.runners_up.begin(), choice.runners_up.end());
  return all;
}

std::string names(const std::vector<Candidate>& candidates) {
  std::string all;
  for (const Candidate& candidate : candidates)
    all += candidate.name() + "\n";
  return all;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Choice, OfTwoNodesTriesTheSameThingUnderOneNameOnly) {
  const std::string all = names(candidates(cluster({4, 2}), mebibyte));
  EXPECT_TRUE(contains(all, "direct+direct slice")) << all;
  for (const char* same : {"+ring", "+recursive_halving", "+swing", "+bine", "+torus", "+circulant"})
    EXPECT_FALSE(contains(all, same)) << same << " does what direct does\n" << all;
}

TEST(Choice, OfTwelveNodesHasWhatDiffers) {
  const std::string all = names(candidates(cluster({4, 12}), mebibyte));
  for (const char* different : {"+direct ", "+ring ", "+recursive_halving ", "+recursive_doubling.exchange ",
                                "+binomial.exchange ", "+double_binary_tree.exchange ", "+swing ", "+bine ", "+torus ",
                                "+torus3d ", "+recursive_multiplying.exchange "})
    EXPECT_TRUE(contains(all, different)) << different << "\n" << all;
  EXPECT_FALSE(contains(all, "+recursive_multiplying_8")) << "12 is 4 times 3 in both\n" << all;
}

TEST(Choice, OfFifteenNodesHasTheCirculantBesideTheOthers) {
  const std::string all = names(candidates(cluster({4, 15}), mebibyte));
  EXPECT_TRUE(contains(all, "+bine ")) << all;
  EXPECT_TRUE(contains(all, "+circulant ")) << all;
}

TEST(Choice, OfAPrimeNumberOfNodesHasNoGridBesideTheRing) {
  const std::string all = names(candidates(cluster({4, 13}), mebibyte));
  EXPECT_TRUE(contains(all, "+ring ")) << all;
  EXPECT_FALSE(contains(all, "+torus")) << all;
}

TEST(Choice, IsTheSameEachTime) {
  for (const auto& factors : {std::vector{4, 2}, {2, 3, 12}, {16}, {1, 64}}) {
    const Situation situation = cluster(factors);
    for (std::size_t bytes : {std::size_t{8}, std::size_t{20000}, 16 * mebibyte})
      EXPECT_EQ(names(candidates(situation, bytes)), names(candidates(situation, bytes)));
  }
}

TEST(Choice, ConsidersNoMoreForMoreLevels) {
  const std::size_t of_two = candidates(cluster({4, 12}), mebibyte).size();
  EXPECT_GT(of_two, 20u);
  EXPECT_EQ(candidates(cluster({2, 2, 12}), mebibyte).size(), of_two);
  EXPECT_EQ(candidates(cluster({2, 2, 2, 2, 2, 2, 12}), mebibyte).size(), of_two);
}

TEST(Choice, OfTenThousandNodesTakesLittleTime) {
  const Situation situation = cluster({1, 10000}); // even, and no power of two: the longest walks over the members
  const std::clock_t start = std::clock();
  candidates(situation, mebibyte);
  // About 15 ms; the rest of the second is for sanitizers. Processor time, because a test machine may be busy.
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1.0);
}

} // namespace
} // namespace strata::tune
