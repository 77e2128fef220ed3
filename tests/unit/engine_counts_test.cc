// SPDX-License-Identifier: BSD-3-Clause
// What a plan sends, copies and allocates.
#include "allocations.h"
#include "plan_world.h"

#include <gtest/gtest.h>

namespace strata::engine {
namespace {

using namespace hierarchies;
using type::Element;
using type::Operation;

constexpr unsigned seed = 12;

Setting setting_of(const Machine& machine, const char* composition) {
  Setting setting;
  setting.hierarchy = hierarchy(machine);
  setting.composition = *hier::composition_from(composition, setting.hierarchy);
  return setting;
}

/// 720 float32 for each of two slices: every rank's part is a whole number of elements.
constexpr std::int64_t two_slices = 1440;
constexpr std::uint64_t two_slices_bytes = 4 * two_slices;

TEST(PlanCounts, AreTheBytesOfTheFormulaAtEveryLevel) {
  for (Carriage carriage : carriages) {
    Setting setting = setting_of(factors({4, 3}), "direct+ring");
    setting.carriage = carriage;
    World world(setting, seed);
    for (int call = 1; call <= 3; ++call) {
      ASSERT_EQ(world.run({{Element::float32, Operation::sum, two_slices}}), "");
      for (std::size_t rank = 0; rank < world.ranks(); ++rank) {
        const auto calls = static_cast<std::uint64_t>(call);
        EXPECT_EQ(world.plan(rank).level_traffic(0).bytes, calls * two_slices_bytes * 2 * 3 / 4);
        EXPECT_EQ(world.plan(rank).level_traffic(0).messages, calls * 2 * 2 * 3);
        EXPECT_EQ(world.plan(rank).level_traffic(1).bytes, calls * two_slices_bytes / 4 * 2 * 2 / 3);
        EXPECT_EQ(world.plan(rank).level_traffic(1).messages, calls * 2 * 2 * 2);
      }
    }
  }
}

TEST(PlanCounts, AreOneCopyInSharedMemoryForAllReaders) {
  World world(setting_of(factors({4}), "direct"), seed);
  ASSERT_EQ(world.run({{Element::float32, Operation::sum, two_slices}}), "");
  // A chunk for each of three peers, and one for all three.
  EXPECT_EQ(world.sent(0).messages, 2u * (3 + 1));
  EXPECT_EQ(world.sent(0).bytes, two_slices_bytes);
}

TEST(PlanCounts, AreOneCopyPerReceiverOverMessages) {
  Setting setting = setting_of(factors({4}), "direct");
  setting.carriage = Carriage::messages;
  World world(setting, seed);
  ASSERT_EQ(world.run({{Element::float32, Operation::sum, two_slices}}), "");
  EXPECT_EQ(world.sent(0).messages, 2u * (3 + 3));
  EXPECT_EQ(world.sent(0).bytes, two_slices_bytes * 2 * 3 / 4);
}

TEST(PlanCounts, AreNoCopyForWhatIsReduced) {
  Copies::number = Copies::bytes = 0;
  World world(setting_of(factors({4}), "direct"), seed);
  ASSERT_EQ(world.run({{Element::float32, Operation::sum, two_slices}}), "");
  // What is sent goes to shared memory once; of what is received only the chunks of the others' results are copied.
  EXPECT_EQ(Copies::number, 4u * 2 * ((3 + 1) + 3));
  EXPECT_EQ(Copies::bytes, 4 * (two_slices_bytes + two_slices_bytes * 3 / 4));
}

TEST(PlanCounts, LeaveOutMessagesThatWouldBeEmpty) {
  World world(setting_of(factors({4}), "direct"), seed);
  ASSERT_EQ(world.run({{Element::float32, Operation::sum, 1}}), "");
  std::uint64_t messages = 0;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    messages += world.sent(rank).messages;
    EXPECT_EQ(world.plan(rank).level_traffic(0).bytes % 4, 0u);
  }
  EXPECT_EQ(messages, 3u + 1u); // to the rank that has the one element, and from it to all
}

TEST(PlanCounts, AreNoAllocationInTheSecondCall) {
  for (const char* composition : {"direct+ring", "direct.leader+direct.exchange", "recursive_halving"}) {
    World world(setting_of(factors({2, 3}), composition), seed);
    std::vector<std::vector<float>> memory(world.ranks(), std::vector<float>(5000, 1.0f));
    std::deque<Request> requests(world.ranks());
    for (std::size_t rank = 0; rank < world.ranks(); ++rank) {
      requests[rank].input = reinterpret_cast<std::byte*>(memory[rank].data());
      requests[rank].output = reinterpret_cast<std::byte*>(memory[rank].data());
      requests[rank].elements = 5000;
      requests[rank].reducer = {kernel::scalar().find(Element::float32, Operation::sum), 4};
    }
    ASSERT_TRUE(world.run(requests));
    const std::uint64_t before = allocations::of_this_thread();
    ASSERT_TRUE(world.run(requests));
    ASSERT_TRUE(world.run(requests));
    EXPECT_EQ(allocations::of_this_thread() - before, 0u) << composition;
    EXPECT_EQ(memory[5][4999], 216.0f);
  }
}

TEST(PlanCounts, OfAllocationsWork) {
  const std::uint64_t before = allocations::of_this_thread();
  const auto one = std::make_unique<std::vector<int>>(3);
  EXPECT_EQ(allocations::of_this_thread() - before, 2u);
}

} // namespace
} // namespace strata::engine
