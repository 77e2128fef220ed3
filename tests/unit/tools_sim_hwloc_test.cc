// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sim.h"

#include <gtest/gtest.h>

namespace strata::tools {
namespace {

/// A core in these groups; -1: in none.
topo::RankFacts core(std::int32_t package, std::int32_t numa, std::int32_t cache) { return {0, cache, numa, package}; }

std::string words(const std::vector<topo::RankFacts>& cores) {
  const auto words = words_of_cores(cores);
  return words ? *words : words.error().message;
}

TEST(WordsOfCores, AreSocketsNumaNodesAndCaches) {
  std::vector<topo::RankFacts> cores;
  for (std::int32_t i = 0; i < 48; ++i)
    cores.push_back(core(i / 24, i / 12, i / 3));
  EXPECT_EQ(words(cores), "socket:2 numa:2 cache:4 core:3");
}

TEST(WordsOfCores, LeaveOutWhatJoinsNothingOrTheSame) {
  EXPECT_EQ(words({core(0, 0, 0)}), "core:1");
  EXPECT_EQ(words({core(0, 0, 0), core(0, 0, 0)}), "core:2");
  EXPECT_EQ(words({core(0, 0, 0), core(0, 0, 0), core(1, 1, 1), core(1, 1, 1)}), "socket:2 core:2");
  EXPECT_EQ(words({core(0, 0, 0), core(0, 0, 1), core(0, 1, 2), core(0, 1, 3)}), "numa:2 core:2");
}

TEST(WordsOfCores, DoWithoutWhatIsNotKnown) {
  EXPECT_EQ(words({core(-1, -1, -1), core(-1, -1, -1), core(-1, -1, -1)}), "core:3");
  EXPECT_EQ(words({core(0, -1, -1), core(0, -1, -1), core(1, -1, -1), core(1, -1, -1)}), "socket:2 core:2");
}

TEST(WordsOfCores, GoByTheGroupsAndNotByTheOrder) {
  EXPECT_EQ(words({core(0, 0, 0), core(1, 1, 1), core(0, 0, 0), core(1, 1, 1)}), "socket:2 core:2");
}

TEST(WordsOfCores, RefuseWhatNoLineCanSay) {
  EXPECT_EQ(words({}), "it has no cores");
  EXPECT_NE(words({core(0, 0, 0), core(0, 0, 0), core(0, 0, 0), core(1, 1, 1), core(1, 1, 1)}).find("more cores than"),
            std::string::npos);
  std::vector<topo::RankFacts> cores; // caches that span NUMA nodes
  for (std::int32_t i = 0; i < 16; ++i)
    cores.push_back(core(i / 8, i / 2, i / 4));
  EXPECT_NE(words(cores).find("'socket:2 cache:2 numa:2 core:2'"), std::string::npos) << words(cores);
}

} // namespace
} // namespace strata::tools
