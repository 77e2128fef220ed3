// SPDX-License-Identifier: BSD-3-Clause
// What the simulator refuses: programs that wait for ever, and loads that make no sense.
#include "sim_machines.h"

namespace strata::sim {
namespace {

using namespace sim_machines;
using sched::input;
using sched::output;
using sched::Range;

void expect_error(const Error& error, const std::string& part) {
  EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
}

TEST(SimulatedDeadlock, IsAnErrorWithRankAndStep) {
  // Both receive before they send.
  const auto circle = workload(3, [](sched::ProgramBuilder& builder) {
    if (builder.rank() == 0) return;
    const int other = 3 - builder.rank();
    builder.recv(sched::part_of(Range{}, 2, 0), output, other, {});
    builder.send(sched::part_of(Range{}, 2, 0), output, {other}, {});
  });
  ASSERT_TRUE(circle) << circle.error().message;
  const auto seen = simulate(machine("node:3"), *circle, load(100, 2));
  ASSERT_FALSE(seen);
  expect_error(seen.error(),
               "deadlock: rank 1, step 0 (receive) waits for ever in slice 0 of 2, for messages of rank 2");
}

TEST(SimulatedDeadlock, OfAMessageThatNobodySendsIsFoundBeforeTheRun) {
  const auto lonely = workload(2, [](sched::ProgramBuilder& builder) {
    if (builder.rank() == 1) builder.copy(Range{}, output, input, {});
    if (builder.rank() == 1) builder.recv(Range{}, output, 0, {1, 0, 7});
  });
  ASSERT_FALSE(lonely);
  expect_error(lonely.error(), "rank 1, step 1: waits for ever: rank 0 sends no message l1.rs.7");
}

TEST(SimulatedWorkload, RefusesAMessageThatNobodyTakesOrTwoOfOneName) {
  const auto untaken = workload(2, [](sched::ProgramBuilder& builder) {
    if (builder.rank() == 0) builder.send(Range{}, input, {1}, {});
  });
  ASSERT_FALSE(untaken);
  expect_error(untaken.error(), "rank 0, step 0: rank 1 takes no message");
  const auto twice = workload(2, [](sched::ProgramBuilder& builder) {
    for (int i = 0; i < 2 && builder.rank() == 0; ++i)
      builder.send(Range{}, input, {1}, {});
    if (builder.rank() == 1) builder.recv(Range{}, output, 0, {});
  });
  EXPECT_FALSE(twice);
  const auto both_twice = workload(2, [](sched::ProgramBuilder& builder) {
    for (int i = 0; i < 2 && builder.rank() == 0; ++i)
      builder.send(Range{}, input, {1}, {});
    for (int i = 0; i < 2 && builder.rank() == 1; ++i)
      builder.recv(Range{}, output, 0, {});
  });
  ASSERT_FALSE(both_twice);
  expect_error(both_twice.error(),
               "rank 0, step 1: sends a second message l0.rs.0 to rank 1 that begins where step 0's");
}

TEST(SimulatedWorkload, RefusesRangesThatDiffer) {
  const auto differ = workload(2, [](sched::ProgramBuilder& builder) {
    if (builder.rank() == 0) builder.send(Range{}, input, {1}, {});
    if (builder.rank() == 1) builder.recv(sched::part_of(Range{}, 2, 0), output, 0, {});
  });
  ASSERT_FALSE(differ);
  expect_error(differ.error(), "rank 1, step 0: takes another range");
}

TEST(SimulatedWorkload, RefusesDependenciesAndPeersThatAreNone) {
  const auto broken = [](const std::function<void(sched::Step&)>& change) {
    return Workload::from(2, [&](std::int32_t rank) {
      sched::ProgramBuilder builder(rank, 2);
      builder.send(Range{}, input, {1 - rank}, {});
      builder.recv(Range{}, output, 1 - rank, {});
      sched::Program program = std::move(builder).finish();
      if (rank == 1) change(program.steps[1]);
      return program;
    });
  };
  EXPECT_TRUE(broken([](sched::Step&) {}));
  const auto later = broken([](sched::Step& step) { step.dependencies = {1}; });
  ASSERT_FALSE(later);
  expect_error(later.error(), "rank 1, step 1: it waits for ever, for step 1");
  EXPECT_FALSE(broken([](sched::Step& step) { step.dependencies = {-1}; }));
  EXPECT_FALSE(broken([](sched::Step& step) { step.operands[0].peer = 2; }));
  EXPECT_FALSE(broken([](sched::Step& step) { step.operands[0].peer = 1; }));
  EXPECT_FALSE(broken([](sched::Step& step) { step.range.end = sched::whole + 1; }));
}

TEST(SimulatedLoad, IsRefusedWhenItMakesNoSense) {
  const auto copy = workload(2, [](sched::ProgramBuilder& builder) { builder.copy(Range{}, output, input, {}); });
  ASSERT_TRUE(copy);
  const auto refused = [&](const std::function<void(Load&)>& change) {
    Load changed = load(1000);
    change(changed);
    return !simulate(machine("core:2"), *copy, changed);
  };
  EXPECT_FALSE(refused([](Load&) {}));
  EXPECT_TRUE(refused([](Load& load) { load.bytes = -1; }));
  EXPECT_TRUE(refused([](Load& load) { load.slice_bytes = 0; }));
  EXPECT_TRUE(refused([](Load& load) { load.window = 0; }));
  EXPECT_TRUE(refused([](Load& load) { load.element_bytes = 3; }));
  EXPECT_TRUE(refused([](Load& load) { load.bytes = std::int64_t{1} << 40, load.slice_bytes = 1; }));
  EXPECT_FALSE(simulate(machine("core:3"), *copy, load(1000))) << "the programs are of two ranks";
}

} // namespace
} // namespace strata::sim
