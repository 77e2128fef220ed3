// SPDX-License-Identifier: BSD-3-Clause
// Plans of all ranks, run by one thread, over shared memory and over messages that are late and out of order.
#include "plan_world.h"
#include "share.h"

#include <gtest/gtest.h>

namespace strata::engine {
namespace {

using namespace hierarchies;
using type::Element;
using type::Operation;
using Place = vectors::Buffers::Place;

unsigned new_seed() { return std::random_device{}(); }

/// Runs each list of jobs to its end before the next, on the same plans.
void expect_right(const Setting& setting, const std::vector<std::vector<Job>>& lists, unsigned seed) {
  SCOPED_TRACE(fmt::format("seed {}; {}", seed, setting.describe()));
  World world(setting, seed);
  ASSERT_EQ(world.failure(), "");
  for (const auto& jobs : lists)
    ASSERT_EQ(world.run(jobs), "") << jobs.front().count << " elements";
}

Setting setting_by_node(const Machine& machine, const char* composition) {
  Setting setting;
  setting.hierarchy = hierarchy(machine, by_node(machine));
  setting.composition = *hier::composition_from(composition, setting.hierarchy);
  return setting;
}

TEST(Plan, ReducesAllTypesAndOperationsInPlaceAndNot) {
  for (Carriage carriage : {Carriage::memory, Carriage::both}) {
    Setting setting = setting_by_node(nodes({1, 3}), "direct+ring");
    setting.carriage = carriage;
    std::vector<std::vector<Job>> lists;
    vectors::for_each_kind([&](Element element, Operation operation) {
      for (std::int64_t count : {1, 2, 3, 7, 64, 1000})
        lists.push_back({{element, operation, count, count % 2 == 0 ? Place::apart : Place::same, 5}});
      lists.push_back({{element, operation, 63, Place::apart, 6}});
      lists.push_back({{element, operation, 4097, Place::same, 7}});
    });
    expect_right(setting, lists, new_seed());
  }
}

/// Counts that need one slice or more, with fewer elements than ranks among them.
std::vector<std::vector<Job>> some_counts(Place place) {
  std::vector<std::vector<Job>> lists;
  for (std::int64_t count : {1, 5, 1000, 2100, 4097})
    lists.push_back({{Element::int32, Operation::sum, count, place, static_cast<unsigned>(count)}});
  return lists;
}

TEST(Plan, RunsEveryCompositionOfTwoLevelsOverEveryCarriage) {
  Share share;
  for (const Machine& machine : {factors({2, 2}), nodes({1, 2, 2}), nodes({4, 1, 3})})
    for (const hier::Composition& composition : compositions(2))
      for (Carriage carriage : carriages) {
        if (!share.takes_next()) continue;
        const unsigned seed = new_seed();
        Setting setting{hierarchy(machine, by_node(machine)), composition, carriage};
        setting.window = 1 + seed % 3;
        expect_right(setting, some_counts(seed % 2 == 0 ? Place::apart : Place::same), seed);
        if (testing::Test::HasFatalFailure()) return;
      }
}

TEST(Plan, RunsEveryAlgorithmOfOneLevelForOneToNineRanks) {
  Share share;
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (const hier::Composition& composition : compositions(1)) {
      if (!share.takes_next()) continue;
      const unsigned seed = new_seed();
      Setting setting{hierarchy(factors({ranks})), composition, carriages[seed % 3]};
      setting.window = 1 + seed / 3 % 4;
      expect_right(setting, some_counts(seed % 2 == 0 ? Place::apart : Place::same), seed);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Plan, RunsThreeAndFourLevels) {
  std::mt19937 random(new_seed());
  for (const Machine& machine : {factors({2, 2, 2}), racks({{1, 2}, {3}}), factors({2, 2, 2, 2})})
    for (const hier::Composition& composition : some_compositions(machine.size(), 12, random)) {
      const unsigned seed = new_seed();
      Setting setting{hierarchy(machine, shuffled(machine, random)), composition, carriages[seed % 3]};
      setting.window = 1 + seed / 3 % 4;
      expect_right(setting, some_counts(Place::same), seed);
    }
}

TEST(Plan, CutsLongVectorsIntoSlicesOfAnySize) {
  for (const char* composition : {"direct+direct", "ring+recursive_halving.exchange", "direct.leader+ring"})
    for (std::size_t slice : {4096u, 5000u, 65536u, 1u << 18})
      for (std::uint32_t window : {1u, 2u, 5u, 11u}) {
        Setting setting = setting_by_node(factors({2, 2}), composition);
        setting.slice_bytes = slice;
        setting.window = window;
        setting.carriage = carriages[window % 3];
        expect_right(setting, {{{Element::float32, Operation::sum, 100003, Place::same, window}}}, new_seed());
      }
}

TEST(Plan, RunsSlicesOfSingleElements) {
  for (Carriage carriage : carriages) {
    Setting setting = setting_by_node(factors({2, 2}), "direct+ring");
    setting.carriage = carriage;
    setting.slice_bytes = 8;
    expect_right(setting, {{{Element::float64, Operation::sum, 33}}, {{Element::int8, Operation::sum, 33}}},
                 new_seed());
  }
}

TEST(Plan, RunsManyCallsOfMixedSizesAndTypesInARow) {
  const unsigned seed = new_seed();
  std::mt19937 random(seed);
  std::vector<std::vector<Job>> lists;
  for (int i = 0; i < 300; ++i) {
    const auto element = static_cast<Element>(random() % type::element_kinds);
    const auto operation = random() % 2 == 0 ? Operation::sum : Operation::maximum;
    const auto place = random() % 2 == 0 ? Place::apart : Place::same;
    lists.push_back(
        {{element, operation, static_cast<std::int64_t>(random() % 3000), place, static_cast<unsigned>(i)}});
  }
  for (Carriage carriage : carriages) {
    Setting setting = setting_by_node(nodes({2, 1, 2}), "direct+ring");
    setting.carriage = carriage;
    expect_right(setting, lists, seed);
  }
}

TEST(Plan, RunsSeveralRequestsInFlight) {
  for (Carriage carriage : carriages)
    for (std::uint32_t window : {1u, 2u, 3u, 8u}) {
      const unsigned seed = new_seed();
      std::mt19937 random(seed);
      Setting setting = setting_by_node(nodes({2, 1, 2}), "direct+direct");
      setting.carriage = carriage;
      setting.window = window;
      std::vector<std::vector<Job>> lists(6);
      for (auto& jobs : lists)
        for (int i = 0; i < 8; ++i) // more lengths of slices than the plan keeps geometries
          jobs.push_back({i % 2 == 0 ? Element::float32 : Element::uint16, Operation::sum,
                          static_cast<std::int64_t>(random() % 3500), random() % 2 == 0 ? Place::apart : Place::same,
                          static_cast<unsigned>(i)});
      expect_right(setting, lists, seed);
    }
}

TEST(Plan, CompletesARequestOfNoElementsAtOnce) {
  World world(setting_by_node(factors({2, 2}), "direct+ring"), new_seed());
  ASSERT_EQ(world.run({{Element::float32, Operation::sum, 0}, {Element::float32, Operation::sum, 0}}), "");
  EXPECT_FALSE(world.plan(0).busy());
  ASSERT_EQ(world.run({{Element::float32, Operation::sum, 0}, {Element::float32, Operation::sum, 900}}), "");
  EXPECT_EQ(world.sent(0).messages, 4u); // to the peer of the node and to the next node, both ways
}

TEST(Plan, StreamsItsResultsWhenTheRequestSaysSo) {
  static int streamed = 0;
  struct Spy {
    static void reduce(void* out, const void* const* in, std::size_t inputs, std::size_t count, kernel::Store store,
                       const kernel::Beside*) {
      if (store == kernel::Store::streaming) ++streamed;
      kernel::scalar().find(Element::float32, Operation::sum)(out, in, inputs, count, kernel::Store::cached, nullptr);
    }
  };
  for (bool streams : {false, true}) {
    streamed = 0;
    World world(setting_by_node(factors({2}), "direct.exchange"), new_seed());
    std::vector<float> memory(200, 1.0f);
    std::deque<Request> requests(2);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      Request& request = requests[rank];
      request.input = reinterpret_cast<std::byte*>(memory.data() + 100 * rank);
      request.output = reinterpret_cast<std::byte*>(memory.data() + 100 * rank);
      request.elements = 100;
      request.reducer = {Spy::reduce, 4};
      if (streams) request.stores.result = kernel::Store::streaming;
      world.plan(rank).submit(request);
    }
    for (int i = 0; i < 100; ++i) {
      world.plan(0).advance();
      world.plan(1).advance();
    }
    EXPECT_TRUE(requests[0].complete() && requests[1].complete());
    EXPECT_EQ(memory, std::vector<float>(200, 2.0f));
    EXPECT_EQ(streamed, streams ? 2 : 0);
  }
}

} // namespace
} // namespace strata::engine
