// SPDX-License-Identifier: BSD-3-Clause
#include "hierarchies.h"

#include <gtest/gtest.h>

namespace strata::hier {
namespace {

using namespace hierarchies;

const topo::Hierarchy one_level = hierarchy(factors({4}));
const topo::Hierarchy two_levels = hierarchy(factors({2, 2}));

std::string read_back(const std::string& text, const topo::Hierarchy& hierarchy) {
  const auto composition = composition_from(text, hierarchy);
  return composition ? to_text(*composition) : composition.error().message;
}

/// Expects a refusal that has all of `parts` in its message.
void expect_refusal(const std::string& text, const topo::Hierarchy& hierarchy,
                    std::initializer_list<const char*> parts) {
  const auto composition = composition_from(text, hierarchy);
  ASSERT_FALSE(composition) << text;
  EXPECT_EQ(composition.error().kind, ErrorKind::argument);
  for (const char* part : parts)
    EXPECT_NE(composition.error().message.find(part), std::string::npos)
        << composition.error().message << "\n  lacks " << part;
}

TEST(CompositionText, IsReadBackForEveryComposition) {
  for (const auto& hierarchy : {one_level, two_levels, hierarchies::hierarchy(factors({2, 2, 2}))})
    for (const Composition& composition : compositions(hierarchy.levels.size()))
      EXPECT_EQ(read_back(to_text(composition), hierarchy), to_text(composition));
}

TEST(CompositionText, MayHaveCommasAndSpaces) {
  EXPECT_EQ(read_back("direct,ring", two_levels), "direct+ring");
  EXPECT_EQ(read_back(" direct.leader + recursive_doubling.exchange ", two_levels),
            "direct.leader+recursive_doubling.exchange");
}

TEST(CompositionText, OfOneNameStandsForAllLevels) {
  EXPECT_EQ(read_back("ring", two_levels), "ring+ring");
  EXPECT_EQ(read_back("direct.leader", two_levels), "direct.leader+direct.leader");
}

TEST(CompositionText, WithoutAShapeScattersWhereTheAlgorithmCan) {
  EXPECT_EQ(read_back("direct+recursive_doubling", two_levels), "direct+recursive_doubling.exchange");
  EXPECT_EQ(read_back("binomial", two_levels), "binomial.leader+binomial.exchange");
  EXPECT_EQ(read_back("recursive_halving", one_level), "recursive_halving");
}

TEST(CompositionText, ThatNamesNoAlgorithmIsRefusedWithTheLevelAndWhatThereIs) {
  expect_refusal("direct+rong", two_levels, {"level 1", "'rong'", "direct, ring, recursive_doubling"});
  expect_refusal("", one_level, {"''", "direct"});
  expect_refusal("direct++ring", two_levels, {"3 levels", "there are 2"});
  expect_refusal("direct+", two_levels, {"level 1", "''"});
  expect_refusal("direct+rong", one_level, {"2 levels", "there is 1"});
}

TEST(CompositionText, ThatNamesNoShapeIsRefusedWithTheLevelAndWhatThereIs) {
  expect_refusal("direct.scater+ring", two_levels, {"level 0", "'scater'", "scatter, leader or exchange"});
  expect_refusal("direct.", one_level, {"''", "scatter, leader or exchange"});
}

TEST(CompositionText, WithAFormThatTheAlgorithmLacksIsRefused) {
  expect_refusal("ring.leader+ring", two_levels, {"level 0", "ring", "leader"});
  expect_refusal("direct+recursive_doubling.scatter", two_levels, {"level 1", "recursive_doubling", "scatter"});
  expect_refusal("recursive_doubling+ring", two_levels, {"level 0", "recursive_doubling"});
}

TEST(CompositionText, WithAnExchangeAtAnInnerLevelIsRefused) {
  expect_refusal("ring.exchange+ring", two_levels, {"level 0", "outermost"});
  expect_refusal("ring.exchange", two_levels, {"level 0", "outermost"});
}

TEST(CompositionText, IsCheckedEvenForARankThatIsAlone) {
  EXPECT_EQ(read_back("direct", topo::Hierarchy{}), "");
  expect_refusal("rong", topo::Hierarchy{}, {"'rong'"});
}

} // namespace
} // namespace strata::hier
