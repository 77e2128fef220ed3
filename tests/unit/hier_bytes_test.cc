// SPDX-License-Identifier: BSD-3-Clause
// What compositions move over each level, counted in their programs.
#include "hierarchies.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>

namespace strata::hier {
namespace {

using namespace hierarchies;
using sched::Unit;
using sched::whole;

/// What a rank sends at a level, a set of receivers counted once per receiver.
struct Sent {
  Unit units = 0;
  int messages = 0;
  bool operator==(const Sent&) const = default;
};

Sent sent_at(const sched::Program& program, std::size_t level) {
  Sent sent;
  for (const sched::Step& step : program.steps)
    if (step.kind == sched::Kind::send && step.tag.level == level) {
      sent.units += static_cast<Unit>(step.peers.size()) * (step.range.end - step.range.begin);
      sent.messages += static_cast<int>(step.peers.size());
    }
  return sent;
}

Composition scattered(std::initializer_list<const char*> names) {
  Composition composition;
  for (const char* name : names)
    composition.levels.push_back({coll::find(name), Shape::scatter});
  return composition;
}

/// 2(p-1)/p of what a rank holds at each level, in as many messages as the algorithm needs.
void expect_formula(const std::vector<int>& sizes, const Composition& composition) {
  const Machine machine = factors(sizes);
  const topo::Hierarchy mapped = hierarchy(machine, by_node(machine));
  for (const sched::Program& program : programs(mapped, composition)) {
    Unit held = whole;
    for (std::size_t level = 0; level < sizes.size(); ++level) {
      const int size = sizes[level];
      const Sent sent = sent_at(program, level);
      EXPECT_EQ(sent.units, 2 * (held / size) * (size - 1)) << describe(mapped, composition) << ", level " << level;
      const bool halving = composition.levels[level].algorithm->name == "recursive_halving";
      const int rounds = halving ? static_cast<int>(std::bit_width(static_cast<unsigned>(size))) - 1 : size - 1;
      EXPECT_EQ(sent.messages, 2 * rounds);
      held /= size;
    }
  }
}

TEST(BytesPerLevel, AreThoseOfTheFormulaForEvenHierarchies) {
  for (const auto& sizes : std::vector<std::vector<int>>{{2, 2}, {4, 4}, {3, 5}, {16, 4}, {7, 9}, {5, 3}})
    for (const char* inner : {"direct", "ring"})
      for (const char* outer : {"direct", "ring"})
        expect_formula(sizes, scattered({inner, outer}));
  for (const auto& sizes : std::vector<std::vector<int>>{{2, 2}, {4, 4}, {16, 4}, {2, 8}})
    for (const char* inner : {"direct", "ring", "recursive_halving"})
      expect_formula(sizes, scattered({inner, "recursive_halving"}));
  expect_formula({2, 3, 4}, scattered({"direct", "ring", "recursive_halving"}));
  expect_formula({4, 2, 2}, scattered({"direct", "direct", "ring"}));
  expect_formula({2, 2, 2, 2}, scattered({"recursive_halving", "direct", "ring", "direct"}));
}

TEST(BytesPerLevel, AreTheSameWhenTheOutermostLevelIsAnExchangeByRingOrHalving) {
  for (const char* name : {"ring", "recursive_halving"}) {
    Composition composition = scattered({"direct", name});
    composition.levels[1].shape = Shape::exchange;
    expect_formula({4, 4}, composition);
    expect_formula({3, 8}, composition);
  }
}

/// The rails of a node share what its NIC carries, however many ranks the node has.
TEST(BytesPerLevel, BetweenUnevenNodesAreThoseOfTheFormulaForEveryNode) {
  for (const auto& sizes : std::vector<std::vector<int>>{{1, 2, 4}, {3, 5, 7}, {1, 1, 1, 4}, {2, 1}, {8, 1, 3, 4}})
    for (const char* outer : {"direct", "ring"}) {
      const Machine machine = nodes(sizes);
      const topo::Hierarchy mapped = hierarchy(machine, by_node(machine));
      const auto count = static_cast<Unit>(sizes.size());
      std::map<std::int32_t, Unit> by_node;
      for (const sched::Program& program : programs(mapped, scattered({"direct", outer})))
        by_node[mapped.levels[0].group_of[static_cast<std::size_t>(program.rank)]] += sent_at(program, 1).units;
      for (const auto& [node, units] : by_node)
        EXPECT_EQ(units, 2 * (whole / count) * (count - 1))
            << "node " << node << " of " << fmt::format("{}", fmt::join(sizes, " "));
    }
}

/// A rank of a node with more ranks carries less, and no rank carries more than its share of its own node.
TEST(BytesPerLevel, BetweenUnevenNodesAreSharedEvenlyByTheRanksOfANode) {
  for (const auto& sizes : std::vector<std::vector<int>>{{1, 2, 4}, {3, 5, 7}, {8, 1, 3, 4}}) {
    const topo::Hierarchy mapped = hierarchy(nodes(sizes));
    const auto count = static_cast<Unit>(sizes.size());
    for (const sched::Program& program : programs(mapped, scattered({"direct", "direct"}))) {
      const auto node = static_cast<std::size_t>(mapped.levels[0].group_of[static_cast<std::size_t>(program.rank)]);
      EXPECT_EQ(sent_at(program, 1).units, 2 * (whole / count) * (count - 1) / sizes[node]);
    }
  }
}

TEST(BytesPerLevel, OfLeadersAreOneVectorEachWay) {
  Composition composition = scattered({"direct", "direct"});
  composition.levels[0].shape = Shape::leader;
  const topo::Hierarchy mapped = hierarchy(nodes({1, 2, 4}));
  const auto all = programs(mapped, composition);
  const bool leader[] = {true, true, false, true, false, false, false};
  const Unit broadcast[] = {0, 1, 0, 3, 0, 0, 0};
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    EXPECT_EQ(sent_at(all[rank], 0).units, leader[rank] ? broadcast[rank] * whole : whole) << rank;
    EXPECT_EQ(sent_at(all[rank], 1).units, leader[rank] ? 2 * (whole / 3) * 2 : 0) << rank;
  }
}

TEST(Copies, AreMadeOnlyByExchangesOfWholeVectors) {
  for (const Composition& composition : compositions(2)) {
    const std::string_view outermost = composition.levels[1].algorithm->name;
    const bool whole_vectors =
        outermost == "direct" || outermost == "recursive_doubling" || outermost.starts_with("recursive_multiplying");
    if (composition.levels[1].shape == Shape::exchange && whole_vectors) continue;
    for (const sched::Program& program : programs(hierarchy(nodes({1, 2, 4})), composition)) {
      EXPECT_EQ(program.scratch_regions, 0) << to_text(composition);
      for (const sched::Step& step : program.steps)
        EXPECT_NE(step.kind, sched::Kind::copy) << to_text(composition) << ": " << sched::to_text(step);
    }
  }
}

} // namespace
} // namespace strata::hier
