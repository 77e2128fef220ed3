// SPDX-License-Identifier: BSD-3-Clause
// Binomial tree: reduce to member 0, then broadcast from it (Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005,
// sections 4.2 and 4.5).
//
// A member's number with its lowest set bit cleared is its parent's; member 0 is the root:
//
//     0 ---- 1
//       ---- 2 ---- 3           the children of member i are i + 1, i + 2, i + 4, … below i + (lowest set bit of i)
//       ---- 4 ---- 5
//              ---- 6 ---- 7
//
// Reduce: a member waits for all of its children and reduces what they send with its own contribution in one pass.
// The subtree of child i + d is the members i+d … i+2d-1, so the operands are in member order.
// Broadcast: a member sends the result to all of its children, the one with the largest subtree first; in shared memory
// that is one write.
// All-reduce: one after the other.
//
// Cost, for S bytes: 2 floor(log2(p)) messages one after the other (the most bits that are set in a member's number,
// up and down); the root gets and sends ceil(log2(p)) * S, most members only S each way. For short vectors, and for
// links that do not carry all members' messages at once.
#include "coll/families.h"

#include <bit>

namespace strata::coll {
namespace {

using sched::from;

/// Distances of this member's children, the nearest first.
std::vector<int> children(const Group& group) {
  std::vector<int> distances;
  for (int distance = 1; group.self + distance < group.size() && (group.self & distance) == 0; distance *= 2)
    distances.push_back(distance);
  return distances;
}

std::int32_t parent(const Group& group) { return rank_at(group, group.self & (group.self - 1)); }

void reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::reduce_phase);
  const sched::Tag up = tag(stage, sched::reduce_phase, 0);
  std::vector<sched::Operand> contributions{from(stage.source)};
  for (int distance : children(group))
    contributions.push_back(from(rank_at(group, group.self + distance), up));
  const bool leaf = contributions.size() == 1;
  if (!leaf) builder.reduce(stage.range, sched::output, std::move(contributions), up);
  if (group.self != 0) builder.send(stage.range, leaf ? stage.source : sched::output, {parent(group)}, up);
}

void broadcast(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  const sched::Tag down = tag(stage, sched::broadcast_phase, 0);
  std::vector<std::int32_t> receivers;
  for (int distance : children(group))
    receivers.insert(receivers.begin(), rank_at(group, group.self + distance));
  if (group.self != 0) builder.recv(stage.range, sched::output, parent(group), down);
  builder.send(stage.range, sched::output, std::move(receivers), down);
}

void all_reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  reduce(builder, group, stage);
  broadcast(builder, group, stage);
}

// Messages one after the other: the most bits that are set in a member's number. The root has the most children.
double depth(int members) { return std::bit_width(static_cast<unsigned>(members)) - 1; }
double children_of_root(int members) { return std::bit_width(static_cast<unsigned>(members - 1)); }

/// The busiest member is the root; but one with both a parent and children writes twice.
Cost all_reduce_cost(int members) {
  if (members == 1) return {};
  Cost cost;
  cost.rounds = 2 * depth(members);
  cost.messages = cost.sent = cost.received = children_of_root(members);
  cost.published = members > 3 ? 2 : 1;
  cost.reduced = cost.received + 1;
  cost.chain_messages = depth(members) + children_of_root(members);
  cost.chain = 2 * children_of_root(members);
  return cost;
}

} // namespace

Cost halving_tree_reduce_cost(int members) {
  if (members == 1) return {};
  Cost cost;
  cost.rounds = depth(members);
  cost.messages = cost.sent = cost.published = 1;
  cost.received = children_of_root(members);
  cost.reduced = cost.received + 1;
  cost.chain_messages = depth(members);
  return cost;
}

Cost halving_tree_broadcast_cost(int members) {
  if (members == 1) return {};
  Cost cost;
  cost.rounds = depth(members);
  cost.messages = cost.sent = children_of_root(members);
  cost.published = cost.received = 1;
  return cost;
}

Algorithm binomial() {
  return {"binomial",
          "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, sections 4.2 and 4.5",
          {},
          {},
          {all_reduce, all_reduce_cost},
          {reduce, halving_tree_reduce_cost},
          {broadcast, halving_tree_broadcast_cost}};
}

} // namespace strata::coll
