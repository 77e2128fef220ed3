// SPDX-License-Identifier: BSD-3-Clause
// Compositions over hierarchies of every kind, proved by the verifier, and run by the interpreter.
#include "hierarchies.h"
#include "interpreter.h"
#include "share.h"
#include "verify_mutations.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata::hier {
namespace {

using namespace hierarchies;

unsigned new_seed() { return std::random_device{}(); }

void expect_proof(const topo::Hierarchy& hierarchy, const Composition& composition) {
  const Status sound = topo::check(hierarchy);
  ASSERT_TRUE(sound) << sound.error().message;
  const Status proof = verify::verify(programs(hierarchy, composition), {});
  EXPECT_TRUE(proof) << describe(hierarchy, composition) << ": " << proof.error().message;
}

TEST(Composition, OfOneLevelIsProvedWhateverTheAlgorithmAndShape) {
  for (int ranks : {2, 3, 4, 7, 16, 33})
    for (const Composition& composition : compositions(1))
      expect_proof(hierarchy(factors({ranks})), composition);
}

TEST(Composition, OfTwoLevelsIsProvedWhateverTheAlgorithmsAndShapes) {
  for (const Machine& machine : {factors({2, 2}), factors({3, 2}), factors({4, 3}), nodes({1, 2, 4}), nodes({2, 1}),
                                 nodes({1, 1, 3}), nodes({2, 3, 1, 4})})
    for (const Composition& composition : compositions(2)) {
      expect_proof(hierarchy(machine), composition);
      expect_proof(hierarchy(machine, by_node(machine)), composition);
    }
}

TEST(Composition, OfTwoLevelsIsProvedForUnevenNodesInAnyOrder) {
  const unsigned seed = new_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (const Machine& machine : {nodes({3, 5, 7}), nodes({7, 1, 1, 5}), nodes({4, 4, 4, 3}), nodes({13, 2}),
                                 nodes({1, 1, 1, 1, 1, 9}), nodes({6, 6, 5, 6})})
    for (const Composition& composition : some_compositions(2, 12, random))
      expect_proof(hierarchy(machine, shuffled(machine, random)), composition);
}

TEST(Composition, OfThreeLevelsIsProvedForEvenAndUnevenRacks) {
  const unsigned seed = new_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (const Machine& machine : {factors({2, 2, 2}), factors({2, 3, 2}), racks({{1, 2}, {4}}),
                                 racks({{3, 1, 1}, {2, 2}}), racks({{1}, {1, 1, 1}, {5, 2}})})
    for (const Composition& composition : some_compositions(3, 500, random)) { // of thousands
      expect_proof(hierarchy(machine), composition);
      expect_proof(hierarchy(machine, shuffled(machine, random)), composition);
    }
}

TEST(Composition, OfFourLevelsIsProved) {
  const unsigned seed = new_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  Machine uneven = racks({{3, 1, 1}, {2, 2}, {1, 4}});
  uneven.insert(uneven.end() - 1, uneven[1]);
  for (auto& group : uneven[2]) // the first two racks are a row
    group = group == 2 ? 1 : 0;
  for (const Machine& machine : {factors({2, 2, 2, 2}), factors({1, 3, 2, 2}), uneven})
    for (const Composition& composition : some_compositions(hierarchy(machine).levels.size(), 300, random))
      expect_proof(hierarchy(machine, shuffled(machine, random)), composition);
}

TEST(Composition, OfSixtyFourRanksIsProved) {
  const unsigned seed = new_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (const Machine& machine :
       {factors({8, 8}), factors({16, 4}), factors({4, 4, 4}), factors({2, 4, 2, 4}), nodes({1, 2, 4, 8, 16, 32, 1}),
        nodes({21, 1, 20, 22}), racks({{8, 3, 5}, {16}, {1, 1, 1, 1, 12, 16}})}) {
    const topo::Hierarchy mapped = hierarchy(machine, shuffled(machine, random));
    for (const Composition& composition : some_compositions(mapped.levels.size(), 25, random))
      expect_proof(mapped, composition);
  }
}

/// Nodes of 1 to 8 places, so many in all.
Machine nodes_of(int places, std::mt19937& random) {
  std::vector<int> sizes;
  while (places > 0) {
    sizes.push_back(std::min(places, 1 + static_cast<int>(random() % 8)));
    places -= sizes.back();
  }
  return nodes(sizes);
}

TEST(Composition, OfEveryNumberOfRanksToSixtyFourIsProvedInEachMapping) {
  const unsigned seed = new_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  Share share;
  for (int ranks = 2; ranks <= 64; ++ranks) {
    const Machine machine = nodes_of(ranks, random);
    for (const Mapping& mapping : {by_slot(machine), by_node(machine), shuffled(machine, random)}) {
      const topo::Hierarchy mapped = hierarchy(machine, mapping);
      for (const Composition& composition : some_compositions(mapped.levels.size(), 3, random))
        if (share.takes_next()) expect_proof(mapped, composition);
    }
  }
}

TEST(Composition, OfRandomHierarchiesIsProvedAndRunsInPlaceWithoutBuffers) {
  const unsigned seed = new_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 150; ++i) {
    std::vector<std::vector<int>> sizes(1 + random() % 3);
    for (auto& rack : sizes) {
      rack.resize(1 + random() % 3);
      for (int& node : rack)
        node = 1 + static_cast<int>(random() % 5);
    }
    const Machine machine = racks(sizes);
    const topo::Hierarchy mapped = hierarchy(machine, shuffled(machine, random));
    if (mapped.ranks == 1) continue;
    const Composition composition = some_compositions(mapped.levels.size(), 1, random).front();
    SCOPED_TRACE(describe(mapped, composition));
    expect_proof(mapped, composition);
    const auto all = programs(mapped, composition);
    interpreter::Interpretation run(all, interpreter::Memory::in_place, interpreter::Sends::rendezvous,
                                    static_cast<unsigned>(random()));
    const auto own = [&](int rank, sched::Unit) { return run.expressions().leaf(rank); };
    const auto outcome = run({own, own});
    ASSERT_EQ(outcome.failure, "");
    for (std::size_t piece = 0; piece + 1 < outcome.cuts.size(); ++piece)
      for (const auto& output : outcome.output) {
        ASSERT_EQ(output[piece], outcome.output[0][piece]);
        auto ranks = run.expressions().ranks(output[piece]);
        std::sort(ranks.begin(), ranks.end());
        std::vector<int> everybody(ranks.size());
        std::iota(everybody.begin(), everybody.end(), 0);
        ASSERT_EQ(ranks, everybody);
        ASSERT_EQ(ranks.size(), static_cast<std::size_t>(mapped.ranks));
      }
  }
}

TEST(Composition, OfOneRankOnlyCopies) {
  topo::Hierarchy alone;
  const auto program = AllReduce(alone, {}).program(0);
  ASSERT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(program.steps[0].kind, sched::Kind::copy);
}

/// Folded members give back in the all-gather what they got in the reduce-scatter, needlessly where no level lies
/// between.
bool may_send_needlessly(const Composition& composition) {
  const LevelPlan& outermost = composition.levels.back();
  return outermost.shape == Shape::scatter && outermost.algorithm->name == "recursive_halving";
}

TEST(Composition, ThatIsMutatedIsRefused) {
  const unsigned seed = new_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (const Machine& machine :
       {factors({2, 2}), nodes({1, 2}), nodes({1, 2, 4}), factors({2, 2, 2}), racks({{2, 1}, {3}})}) {
    const topo::Hierarchy mapped = hierarchy(machine, shuffled(machine, random));
    for (const Composition& composition : some_compositions(mapped.levels.size(), 10, random)) {
      if (may_send_needlessly(composition)) continue;
      const auto schedule = programs(mapped, composition);
      for (const verify::mutations::Mutation& mutation : verify::mutations::breaking)
        for (int i = 0; i < 3; ++i) {
          auto mutant = schedule;
          if (!mutation.mutate(random, mutant)) continue;
          ASSERT_NE(verify::judgement_of(mutant), "accepted") << describe(mapped, composition) << ": " << mutation.name;
        }
    }
  }
}

} // namespace
} // namespace strata::hier
