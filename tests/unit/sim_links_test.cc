// SPDX-License-Identifier: BSD-3-Clause
// Messages between nodes, computed by hand.
#include "sim_machines.h"

namespace strata::sim {
namespace {

using namespace sim_machines;
using sched::input;
using sched::output;
using sched::Range;
using sched::Tag;

/// Who sends the whole slice to whom, in this order.
using Sends = std::vector<std::pair<int, int>>;
Result<Workload> messages(int ranks, const Sends& sends) {
  return workload(ranks, [&](sched::ProgramBuilder& builder) {
    for (std::size_t i = 0; i < sends.size(); ++i) {
      const Tag tag{0, 0, static_cast<std::uint16_t>(i)};
      if (sends[i].first == builder.rank()) builder.send(Range{}, input, {sends[i].second}, tag);
      // Scratch, so that nothing depends on anything.
      if (sends[i].second == builder.rank())
        builder.recv(Range{}, sched::scratch(builder.new_scratch_region()), sends[i].first, tag);
    }
  });
}

TEST(SimulatedLinks, TakeLatencyAndBytesForOneMessage) {
  const Outcome seen = run(machine(free_nodes(2, 1)), messages(2, {{0, 1}}), load(1000000));
  expect_microseconds(seen.finish[0], 1000);
  expect_microseconds(seen.finish[1], 1010);
  expect_microseconds(seen.seconds, 1010);
}

TEST(SimulatedLinks, TakeWhatTheCoresTakeInAddition) {
  const Machine two = machine("node:2(uplink=1GB/s, latency=10us, message=3us, read=10GB/s) core:1(step=0.5us)");
  const Outcome seen = run(two, messages(2, {{0, 1}}), load(1000000));
  expect_microseconds(seen.core_busy[0], 0.5 + 3);
  expect_microseconds(seen.core_busy[1], 0.5 + 100);
  expect_microseconds(seen.seconds, 0.5 + 3 + 1000 + 10 + 0.5 + 100);
}

TEST(SimulatedLinks, TakeTwiceAsLongForTwoSendersOnOneUplink) {
  const Outcome seen = run(machine(free_nodes(2, 2)), messages(4, {{0, 2}, {1, 3}}), load(1000000));
  expect_microseconds(seen.finish[2], 1010);
  expect_microseconds(seen.finish[3], 2010);
}

TEST(SimulatedLinks, TakeTwiceAsLongForTwoSendersToOneNode) {
  const Outcome seen = run(machine(free_nodes(3, 1)), messages(3, {{0, 2}, {1, 2}}), load(1000000));
  expect_microseconds(seen.finish[2], 2010);
}

// Two ranks of a node with an uplink of 1 GB/s, each of which can fill a quarter of it. (A message has the uplink for
// itself; so what comes second begins later, though both could share it.)
TEST(SimulatedLinks, TakeLongerFromARankThatCannotFillThem) {
  const std::string text = free_nodes(2, 2);
  const Machine limited = machine(text.substr(0, 7) + "rank=0.25GB/s, " + text.substr(7));
  const Outcome one = run(limited, messages(4, {{0, 2}}), load(1000000));
  expect_microseconds(one.finish[2], 4010);
  expect_microseconds(one.finish[0], 4000);
  const Outcome both = run(limited, messages(4, {{0, 2}, {1, 3}}), load(1000000));
  expect_microseconds(both.finish[2], 4010);
  expect_microseconds(both.finish[3], 5010);
  const Outcome to_one = run(limited, messages(4, {{0, 2}, {1, 2}}), load(1000000));
  expect_microseconds(to_one.finish[2], 8010);
  const Outcome inside = run(limited, messages(4, {{0, 1}}), load(1000000));
  expect_microseconds(inside.finish[1], 0);
  const auto used = std::find_if(one.uses.begin(), one.uses.end(),
                                 [&](const Use& use) { return to_text(limited, use.place) == "rank 0 out"; });
  ASSERT_NE(used, one.uses.end());
  EXPECT_EQ(used->bytes, 1000000);
}

TEST(SimulatedLinks, TakeOneMessageOfANodeAfterTheOther) {
  const std::string text = free_nodes(2, 2);
  const Machine slow = machine(text.substr(0, 7) + "gap=30us, " + text.substr(7));
  const Outcome one = run(slow, messages(4, {{0, 2}}), load(1000));
  expect_microseconds(one.finish[2], 40); // the gap, in which the bytes take a microsecond, and the latency
  const Outcome of_a_node = run(slow, messages(4, {{0, 2}, {1, 3}}), load(1000));
  expect_microseconds(of_a_node.finish[2], 40);
  expect_microseconds(of_a_node.finish[3], 70);
  const Outcome long_ones = run(slow, messages(4, {{0, 2}, {1, 3}}), load(100000));
  expect_microseconds(long_ones.finish[3], 2 * 100 + 10); // the second waits while the first is on the uplink
  const Outcome both_ways = run(slow, messages(4, {{0, 2}, {3, 1}}), load(1000));
  expect_microseconds(both_ways.seconds, 40);
  const Outcome inside = run(slow, messages(4, {{0, 1}}), load(1000));
  expect_microseconds(inside.finish[1], 0);
}

/// A step sends to three nodes, a message after the other; the other rank of its node sends meanwhile.
TEST(SimulatedLinks, HaveMessagesOfOtherRanksBetweenThoseOfAStep) {
  const auto finish = [](const std::string& gap) {
    const Machine one =
        machine("node:4(uplink=unlimited, latency=10us, message=4us, read=unlimited" + gap + ") core:2(step=0s)");
    return run(one, messages(8, {{0, 2}, {0, 4}, {0, 6}, {1, 3}}), load(1000)).finish;
  };
  const std::vector<double> without = finish("");
  expect_microseconds(without[2], 14);
  expect_microseconds(without[6], 22);
  expect_microseconds(without[3], 14);
  const std::vector<double> with = finish(", gap=3us"); // those of one time in the order of their ranks
  expect_microseconds(with[2], 4 + 3 + 10);
  expect_microseconds(with[3], 4 + 6 + 10);
  expect_microseconds(with[4], 8 + 5 + 10);
  expect_microseconds(with[6], 12 + 4 + 10);
}

TEST(SimulatedLinks, CarryBothDirectionsAtOnce) {
  const Outcome seen = run(machine(free_nodes(2, 1)), messages(2, {{0, 1}, {1, 0}}), load(1000000));
  expect_microseconds(seen.finish[0], 1010);
  expect_microseconds(seen.finish[1], 1010);
}

/// What waits for the uplink of node 0 must not keep the way into node 2 from others.
TEST(SimulatedLinks, AreFreeUntilAMessageReallyComes) {
  const Outcome seen = run(machine(free_nodes(4, 1)), messages(4, {{0, 1}, {0, 2}, {3, 2}}), load(1000000));
  expect_microseconds(seen.finish[2], 2010);
  ASSERT_EQ(seen.timeline.size(), 6U);
  std::vector<double> taken;
  for (const Activity& one : seen.timeline)
    if (one.rank == 2) taken.push_back(one.end);
  ASSERT_EQ(taken.size(), 2U);
  expect_microseconds(taken[0], 1010);
}

TEST(SimulatedLinks, AddTheLatenciesOfAllTiersAndTakeTheTimeOfTheSlowest) {
  const Machine racks = machine("rack:2(uplink=0.5GB/s, latency=7us) " + free_nodes(2, 1));
  const Outcome inside = run(racks, messages(4, {{0, 1}}), load(1000000));
  expect_microseconds(inside.seconds, 1010);
  const Outcome across = run(racks, messages(4, {{0, 2}}), load(1000000));
  expect_microseconds(across.seconds, 2017);
  const Outcome both = run(racks, messages(4, {{0, 2}, {1, 3}}), load(1000000));
  expect_microseconds(both.seconds, 4017);
}

TEST(SimulatedLinks, TakeTheLatencyAloneWhereNoneHasALimit) {
  const Machine endless = machine("node:2(uplink=unlimited, latency=10us, message=0s, read=unlimited) core:1(step=0s)");
  const Outcome seen = run(endless, messages(2, {{0, 1}}), load(1000000));
  expect_microseconds(seen.finish[0], 0);
  expect_microseconds(seen.finish[1], 10);
}

/// The sender needs nothing of the receiver, whose window is full while it takes 5 us to take in a slice.
TEST(SimulatedLinks, KeepWhatComesBeforeItsSliceHasStarted) {
  const Machine slow = machine("node:2(uplink=1GB/s, latency=10us, message=0s, read=0.2GB/s) core:1(step=0s)");
  const Outcome seen = run(slow, messages(2, {{0, 1}}), load(4000, 4, 1));
  expect_microseconds(seen.finish[0], 4);
  expect_microseconds(seen.finish[1], 10 + 1 + 4 * 5);
}

TEST(SimulatedLinks, CompleteASendWhenTheLastOfItsMessagesHasLeft) {
  const auto fan = workload(3, [](sched::ProgramBuilder& builder) {
    if (builder.rank() == 0)
      builder.send(Range{}, input, {1, 2}, {});
    else
      builder.recv(Range{}, output, 0, {});
  });
  const Outcome seen = run(machine(free_nodes(3, 1)), fan, load(1000000));
  expect_microseconds(seen.finish[0], 2000);
  expect_microseconds(seen.finish[1], 1010);
  expect_microseconds(seen.finish[2], 2010);
}

TEST(SimulatedLinks, CountBytesAndTimeOfEveryUplink) {
  const Machine racks = machine("rack:2(uplink=0.5GB/s, latency=7us) " + free_nodes(2, 1));
  const Outcome seen = run(racks, messages(4, {{0, 2}, {0, 1}}), load(1000));
  std::vector<std::string> texts;
  for (const Use& use : seen.uses)
    texts.push_back(fmt::format("{} {} {:.0f}", to_text(racks, use.place), use.bytes, use.busy * 1e9));
  EXPECT_EQ(texts, (std::vector<std::string>{"node 0 up 2000 2000", "node 1 down 1000 1000", "node 2 down 1000 1000",
                                             "rack 0 up 1000 2000", "rack 1 down 1000 2000", "memory of node 1 2000 0",
                                             "memory of node 2 2000 0"}));
  ASSERT_NE(seen.busiest(), nullptr);
  EXPECT_EQ(to_text(racks, seen.busiest()->place), "node 0 up");
}

/// p nodes in a ring, n slices of which each message takes c: 2(p-1) rounds in which the uplink sends n messages, if
/// the latency L is hidden behind the others' (L <= (n-1)c); else a round takes c + L. The last message takes L once
/// more.
TEST(SimulatedRing, TakesWhatTheFormulaSays) {
  constexpr int nodes = 4;
  const Machine ring = machine(free_nodes(nodes, 1));
  const topo::Hierarchy hierarchy = hierarchy_of(ring);
  for (const auto& [slices, chunk] :
       std::vector<std::pair<int, double>>{{1, 3}, {1, 1000}, {2, 3}, {2, 30}, {8, 1}, {8, 5}}) {
    const auto bytes = static_cast<std::int64_t>(chunk * 1000 * nodes * slices);
    const Outcome seen =
        run(ring, workload(hierarchy, *hier::composition_from("ring", hierarchy)), load(bytes, slices));
    const double round = std::max(slices * chunk, chunk + 10);
    const double last = slices * chunk + 10;
    expect_microseconds(seen.seconds, (2 * (nodes - 1) - 1) * round + last);
  }
}

} // namespace
} // namespace strata::sim
