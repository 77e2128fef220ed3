// SPDX-License-Identifier: BSD-3-Clause
// Small schedules written by hand, in all the shapes that matter to the verifier, and how its tests ask it about them.
#pragma once

#include "sched/builder.h"
#include "verify/verifier.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata::verify {

using Schedule = std::vector<sched::Program>;

/// The tag of a round of an all-reduce.
constexpr sched::Tag tag(int round) { return {0, sched::all_reduce_phase, static_cast<std::uint16_t>(round)}; }

/// The first half of a slice.
constexpr sched::Range low{0, sched::whole / 2};

/// A program for each rank, as `append(builder, rank)` makes it.
template <typename Append>
Schedule schedule_of(int ranks, Append append) {
  Schedule schedule;
  for (int rank = 0; rank < ranks; ++rank) {
    sched::ProgramBuilder builder(rank, ranks);
    append(builder, rank);
    schedule.push_back(std::move(builder).finish());
  }
  return schedule;
}

/// Why the verifier refuses a schedule, or "accepted".
inline std::string judgement_of(const Schedule& schedule, const Contract& contract = {}) {
  const Status status = verify(schedule, contract);
  return status ? "accepted" : status.error().message;
}

/// Expects a refusal that names a step and says `why`.
inline void expect_refusal(const Schedule& schedule, const Contract& contract, int rank, int step,
                           const std::string& why) {
  const std::string message = judgement_of(schedule, contract);
  const std::string name = "rank " + std::to_string(rank) + " step " + std::to_string(step) + " (";
  EXPECT_EQ(message.substr(0, name.size()), name) << message;
  EXPECT_NE(message.find(why), std::string::npos) << message << "\n  does not say: " << why;
}

inline void expect_refusal(const Schedule& schedule, int rank, int step, const std::string& why) {
  expect_refusal(schedule, {}, rank, step, why);
}

namespace shapes {

using sched::Operand;
using sched::Range;
using sched::Tag;

inline std::vector<std::int32_t> all_but(int ranks, int self) {
  std::vector<std::int32_t> others;
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != self) others.push_back(rank);
  return others;
}

/// Everybody sends its input to everybody and reduces it all, in rank order.
inline Schedule publish(int ranks) {
  return schedule_of(ranks, [&](sched::ProgramBuilder& builder, int rank) {
    const Tag tag{0, sched::all_reduce_phase, 0};
    builder.send({}, sched::input, all_but(ranks, rank), tag);
    const auto region = builder.new_scratch_region();
    std::vector<Operand> operands;
    for (int peer = 0; peer < ranks; ++peer)
      operands.push_back(peer == rank ? sched::from(sched::input) : sched::from(peer, tag));
    // In place, the output is free only when all others have taken the input, so the sum is made beside it.
    builder.reduce({}, sched::scratch(region), operands, tag);
    builder.copy({}, sched::output, sched::scratch(region), tag);
  });
}

/// Reduce-scatter and all-gather by direct exchange among `group`, with `inner` between them on the own part.
template <typename Inner>
void direct_around(sched::ProgramBuilder& builder, const std::vector<std::int32_t>& group, int self, Range range,
                   sched::Place source, std::uint8_t level, Inner inner) {
  const int size = static_cast<int>(group.size());
  const Tag scatter{level, sched::reduce_scatter_phase, 0};
  const Tag gather{level, sched::all_gather_phase, 0};
  const auto part = [&](int i) { return sched::part_of(range, size, i); };
  std::vector<std::int32_t> others;
  std::vector<Operand> operands;
  for (int i = 0; i < size; ++i) {
    const auto peer = group[static_cast<std::size_t>(i)];
    operands.push_back(i == self ? sched::from(source) : sched::from(peer, scatter));
    if (i == self) continue;
    others.push_back(peer);
    builder.send(part(i), source, {peer}, scatter);
  }
  builder.reduce(part(self), sched::output, operands, scatter);
  inner(part(self));
  builder.send(part(self), sched::output, others, gather);
  for (int i = 0; i < size; ++i)
    if (i != self) builder.recv(part(i), sched::output, group[static_cast<std::size_t>(i)], gather);
}

inline Schedule direct(int ranks) {
  std::vector<std::int32_t> group = all_but(ranks, -1);
  return schedule_of(ranks, [&](sched::ProgramBuilder& builder, int rank) {
    direct_around(builder, group, rank, {}, sched::input, 0, [](Range) {});
  });
}

/// Two levels: direct exchange in each node around direct exchange between the nodes, over equal local ranks.
inline Schedule two_levels(int per_node, int nodes) {
  return schedule_of(per_node * nodes, [&](sched::ProgramBuilder& builder, int rank) {
    std::vector<std::int32_t> node, rail;
    for (int i = 0; i < per_node; ++i)
      node.push_back(rank / per_node * per_node + i);
    for (int i = 0; i < nodes; ++i)
      rail.push_back(i * per_node + rank % per_node);
    direct_around(builder, node, rank % per_node, {}, sched::input, 0, [&](Range range) {
      direct_around(builder, rail, rank / per_node, range, sched::output, 1, [](Range) {});
    });
  });
}

inline Schedule ring(int ranks) {
  return schedule_of(ranks, [&](sched::ProgramBuilder& builder, int rank) {
    const int next = (rank + 1) % ranks;
    const int before = (rank + ranks - 1) % ranks;
    const auto chunk = [&](int i) { return sched::part_of({}, ranks, ((rank + i) % ranks + ranks) % ranks); };
    for (int step = 0; step + 1 < ranks; ++step) {
      const Tag tag{0, sched::reduce_scatter_phase, static_cast<std::uint16_t>(step)};
      builder.send(chunk(-step - 1), step == 0 ? sched::input : sched::output, {next}, tag);
      builder.reduce(chunk(-step - 2), sched::output, {sched::from(before, tag), sched::from(sched::input)}, tag);
    }
    for (int step = 0; step + 1 < ranks; ++step) {
      const Tag tag{0, sched::all_gather_phase, static_cast<std::uint16_t>(step)};
      builder.send(chunk(-step), sched::output, {next}, tag);
      builder.recv(chunk(-step - 1), sched::output, before, tag);
    }
  });
}

/// Recursive doubling for powers of two; the lower half's operand comes first on both sides.
inline Schedule doubling(int ranks) {
  return schedule_of(ranks, [&](sched::ProgramBuilder& builder, int rank) {
    sched::Place own = sched::input;
    std::uint16_t round = 0;
    for (int distance = 1; distance < ranks; distance *= 2, ++round) {
      const int peer = rank ^ distance;
      const Tag tag{0, sched::all_reduce_phase, round};
      const sched::Place theirs = sched::scratch(builder.new_scratch_region());
      builder.send({}, own, {peer}, tag);
      builder.recv({}, theirs, peer, tag);
      const sched::Place first = rank < peer ? own : theirs;
      const sched::Place second = rank < peer ? theirs : own;
      builder.reduce({}, sched::output, {sched::from(first), sched::from(second)}, tag);
      own = sched::output;
    }
  });
}

/// Binary tree with rank 0 at the root: sums go up, then the root publishes the result to everybody.
inline Schedule tree(int ranks) {
  return schedule_of(ranks, [&](sched::ProgramBuilder& builder, int rank) {
    const Tag up{0, sched::reduce_phase, 0};
    const Tag down{0, sched::broadcast_phase, 0};
    std::vector<Operand> operands = {sched::from(sched::input)};
    for (int child : {2 * rank + 1, 2 * rank + 2})
      if (child < ranks) operands.push_back(sched::from(child, up));
    const bool is_leaf = operands.size() == 1;
    if (!is_leaf) builder.reduce({}, sched::output, operands, up);
    if (rank == 0) {
      builder.send({}, sched::output, all_but(ranks, 0), down);
    } else {
      builder.send({}, is_leaf ? sched::input : sched::output, {(rank - 1) / 2}, up);
      builder.recv({}, sched::output, 0, down);
    }
  });
}

/// A schedule with its name, for messages of failed tests.
struct Named {
  std::string name;
  Schedule schedule;
  /// Several ranks compute the same sum, so that they must agree on its order.
  bool sums_are_repeated = false;
};

/// All shapes for a number of ranks that is 2 at least.
inline std::vector<Named> of_ranks(int ranks) {
  std::vector<Named> all;
  const auto add = [&](const std::string& name, Schedule schedule, bool sums_are_repeated = false) {
    all.push_back({name + " of " + std::to_string(ranks), std::move(schedule), sums_are_repeated});
  };
  add("publish", publish(ranks), true);
  add("direct", direct(ranks));
  add("ring", ring(ranks));
  add("tree", tree(ranks));
  if ((ranks & (ranks - 1)) == 0) add("doubling", doubling(ranks), true);
  for (int per_node = 2; per_node < ranks; ++per_node)
    if (ranks % per_node == 0) add("two levels by " + std::to_string(per_node), two_levels(per_node, ranks / per_node));
  return all;
}

} // namespace shapes
} // namespace strata::verify
