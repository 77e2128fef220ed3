// SPDX-License-Identifier: BSD-3-Clause
// Cores, slices and shared memory, computed by hand.
#include "sim_machines.h"

namespace strata::sim {
namespace {

using namespace sim_machines;
using sched::from;
using sched::input;
using sched::output;
using sched::Range;

/// A core that writes 1, reads 2 and reduces 4 bytes in a nanosecond.
const std::string core = "(latency=0.5us, message=0.25us, copy=1GB/s, read=2GB/s, reduce=4GB/s, step=0s)";

Result<Workload> broadcast(int ranks) {
  return workload(ranks, [&](sched::ProgramBuilder& builder) {
    std::vector<std::int32_t> others;
    for (int rank = 1; rank < ranks; ++rank)
      others.push_back(rank);
    if (builder.rank() == 0)
      builder.send(Range{}, input, others, {});
    else
      builder.recv(Range{}, output, 0, {});
  });
}

TEST(SimulatedMemory, IsWrittenOnceForAllReaders) {
  const Outcome seen = run(machine("core:4" + core), broadcast(4), load(1000));
  expect_microseconds(seen.core_busy[0], 1.25);
  for (int rank = 1; rank < 4; ++rank)
    expect_microseconds(seen.finish[static_cast<std::size_t>(rank)], 1.25 + 0.5 + 0.5);
}

TEST(SimulatedMemory, AddsLatenciesOutwardsAndReadsAtTheRateOfTheOutermost) {
  const Outcome seen = run(machine("socket:2(latency=2us, read=1GB/s) core:2" + core), broadcast(4), load(1000));
  expect_microseconds(seen.finish[1], 1.25 + 0.5 + 0.5);
  expect_microseconds(seen.finish[2], 1.25 + 2.5 + 1);
}

TEST(SimulatedMemory, QueuesReadersOnALimitedUplink) {
  const Outcome seen = run(machine("socket:2(latency=0s, uplink=1GB/s) core:2" + core), broadcast(4), load(1000));
  expect_microseconds(seen.finish[1], 1.75 + 0.5);
  expect_microseconds(seen.finish[2], 1.75 + 1);
  expect_microseconds(seen.finish[3], 1.75 + 2);
}

TEST(SimulatedMemory, OfANodeLimitsAllItsCores) {
  const auto copies = workload(4, [](sched::ProgramBuilder& builder) { builder.copy(Range{}, output, input, {}); });
  const Outcome seen = run(machine("node:2(memory=1GB/s) core:2" + free_core), copies, load(1000));
  expect_microseconds(seen.finish[0], 2); // 1000 bytes read and 1000 written
  expect_microseconds(seen.finish[1], 4);
  expect_microseconds(seen.finish[2], 2);
}

// Of 1000 bytes and as many of the result, a cache of 4000 keeps all and one of 2000 nothing. What a copy in memory
// takes more, 3 us, is spread over what a rank does.
TEST(SimulatedMemory, CostsMoreWhereNoCacheKeepsTheVectors) {
  const auto with_cache = [](const std::string& cache) {
    return machine("core:2(latency=0s, message=0s, copy=1GB/s, read=1GB/s, reduce=unlimited, step=0s, cache=" + cache +
                   ", beyond=0.25GB/s)");
  };
  const Outcome kept = run(with_cache("4000"), broadcast(2), load(1000));
  expect_microseconds(kept.core_busy[0], 1);
  expect_microseconds(kept.core_busy[1], 1);
  expect_microseconds(run(with_cache("3200"), broadcast(2), load(1000)).core_busy[0], 1 + 0.25 * 3);
  const Outcome not_kept = run(with_cache("2000"), broadcast(2), load(1000));
  expect_microseconds(not_kept.core_busy[0], 1 + 3);
  expect_microseconds(not_kept.core_busy[1], 1 + 3);
  const Outcome in_slices = run(with_cache("2000"), broadcast(2), load(1000, 4));
  expect_microseconds(in_slices.core_busy[1], 1 + 3);
}

TEST(SimulatedMemory, IsNotWrittenAgainBeforeAllHaveRead) {
  // Reading a slice takes 1 us and writing none, so the last of 4 is written when slice 3 - window has been read.
  const Machine slow_reader =
      machine("core:2(latency=0s, message=0s, copy=unlimited, read=1GB/s, reduce=unlimited, step=0s)");
  for (const std::uint32_t window : {1U, 2U, 3U, 4U}) {
    const Outcome seen = run(slow_reader, broadcast(2), load(4000, 4, window));
    expect_microseconds(seen.finish[0], 4 - window);
    expect_microseconds(seen.finish[1], 4);
  }
}

TEST(SimulatedCore, ReadsAndReducesOperandByOperand) {
  const auto reduce = workload(3, [](sched::ProgramBuilder& builder) {
    if (builder.rank() > 0)
      builder.send(Range{}, input, {0}, {});
    else
      builder.reduce(Range{}, output, {from(input), from(1, {}), from(2, {})}, {});
  });
  const Outcome seen = run(machine("core:3" + core), reduce, load(1000));
  expect_microseconds(seen.core_busy[0], 3 * 0.25 + 2 * 0.5);
  expect_microseconds(seen.finish[0], 1.25 + 0.5 + 1.75);
}

TEST(SimulatedCore, ServesOlderSlicesFirst) {
  const auto two_copies = workload(1, [](sched::ProgramBuilder& builder) {
    const sched::Place between = sched::scratch(builder.new_scratch_region());
    builder.copy(Range{}, between, input, {});
    builder.copy(Range{}, output, between, {});
  });
  const Outcome seen = run(machine("core:1" + core), two_copies, load(3000, 3));
  std::vector<std::pair<int, int>> order;
  for (const Activity& one : seen.timeline)
    order.emplace_back(one.slice, one.step);
  EXPECT_EQ(order, (std::vector<std::pair<int, int>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}}));
  expect_microseconds(seen.seconds, 6);
}

TEST(SimulatedCore, TakesNoTimeForWhatHasNoBytes) {
  const auto halves = workload(1, [](sched::ProgramBuilder& builder) {
    builder.copy(sched::part_of(Range{}, 2, 0), output, input, {});
    builder.copy(sched::part_of(Range{}, 2, 1), output, input, {});
  });
  const Outcome seen = run(machine("core:1(step=1us, copy=unlimited)"), halves, load(1));
  expect_microseconds(seen.seconds, 1);
  EXPECT_EQ(seen.timeline.size(), 1U);
  const Outcome empty = run(machine("core:1(step=1us)"), halves, load(0, 1, 1));
  EXPECT_EQ(empty.seconds, 0);
}

/// Each slice takes 1 us on the uplink and 10 us more on the way.
TEST(SimulatedWindow, KeepsYoungerSlicesFromStarting) {
  const auto exchange = workload(2, [](sched::ProgramBuilder& builder) {
    builder.send(Range{}, input, {1 - builder.rank()}, {});
    builder.recv(Range{}, sched::scratch(builder.new_scratch_region()), 1 - builder.rank(), {});
  });
  const Machine pair = machine(free_nodes(2, 1));
  expect_microseconds(run(pair, exchange, load(12000, 12, 1)).seconds, 12 * 11);
  expect_microseconds(run(pair, exchange, load(12000, 12, 2)).seconds, 6 * 11 + 1);
  expect_microseconds(run(pair, exchange, load(12000, 12, 12)).seconds, 12 + 10);
}

} // namespace
} // namespace strata::sim
