// SPDX-License-Identifier: BSD-3-Clause
// Direct exchange: everybody talks to everybody at once and nothing is forwarded (the pairwise exchange of Thakur,
// Rabenseifner and Gropp, IJHPCA 19(1), 2005, section 4.4).
//
// Reduce-scatter: the range is cut into p chunks. A member sends chunk c of its contribution to member c, and reduces
// the p-1 chunks that it gets together with its own in one pass, in member order:
//
//     member 0                member 1                member 2
//     send 1 to 1, 2 to 2     send 2 to 2, 0 to 0     send 0 to 0, 1 to 1
//     chunk 0 = 0 + 1 + 2     chunk 1 = 0 + 1 + 2     chunk 2 = 0 + 1 + 2
//
// All-gather: a member sends its chunk to the set of all others; in shared memory that is one write.
// All-reduce: a member sends all of its contribution to the set of all others, and everybody reduces all of it. The
// result may overwrite the contribution while others still wait to take it, and they take it only when they write
// their own result: a circle, if sends are not buffered. So what is sent is a copy in scratch.
// Reduce: all others send their contribution to member 0, which reduces all of them in one pass, in member order.
// Broadcast: member 0 sends the range to the set of all others.
//
// Cost per member, for S bytes: 1 round in each form, and p-1 messages. Reduce-scatter and all-gather move (p-1)/p * S
// each way, which is the least possible; the reduction reads S. The all-reduce moves (p-1) * S and reads p * S: for
// short vectors, where the single round counts. Reduce and broadcast move (p-1) * S at member 0 and S at the others.
// Best where all pairs have links of their own, as in shared memory.
// Operands are in member order, so the result does not depend on which member owns what.
#include "coll/families.h"

namespace strata::coll {
namespace {

using sched::from;
using sched::Operand;

/// All members but this one, starting behind it so that the first messages of all members have different receivers.
std::vector<std::int32_t> others(const Group& group) {
  std::vector<std::int32_t> ranks;
  for (int distance = 1; distance < group.size(); ++distance)
    ranks.push_back(rank_at(group, group.self + distance));
  return ranks;
}

/// What every member contributes, in member order: own contribution from `own`, the others' from their messages.
std::vector<Operand> contributions(const Group& group, sched::Place own, sched::Tag tag) {
  std::vector<Operand> operands;
  for (int member = 0; member < group.size(); ++member)
    operands.push_back(member == group.self ? from(own) : from(rank_at(group, member), tag));
  return operands;
}

void reduce_scatter(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::reduce_scatter_phase);
  const sched::Tag chunk = tag(stage, sched::reduce_scatter_phase, 0);
  for (int distance = 1; distance < group.size(); ++distance) {
    const int receiver = group.self + distance;
    builder.send(part_at(group, stage, receiver), stage.source, {rank_at(group, receiver)}, chunk);
  }
  builder.reduce(part_at(group, stage, group.self), sched::output, contributions(group, stage.source, chunk), chunk);
}

void all_gather(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  const sched::Tag chunk = tag(stage, sched::all_gather_phase, 0);
  builder.send(part_at(group, stage, group.self), sched::output, others(group), chunk);
  for (int distance = 1; distance < group.size(); ++distance) {
    const int sender = group.self - distance;
    builder.recv(part_at(group, stage, sender), sched::output, rank_at(group, sender), chunk);
  }
}

void all_reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::all_reduce_phase);
  const sched::Tag vector = tag(stage, sched::all_reduce_phase, 0);
  const sched::Place sent = sched::scratch(builder.new_scratch_region());
  builder.copy(stage.range, sent, stage.source, vector);
  builder.send(stage.range, sent, others(group), vector);
  builder.reduce(stage.range, sched::output, contributions(group, stage.source, vector), vector);
}

void reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::reduce_phase);
  const sched::Tag vector = tag(stage, sched::reduce_phase, 0);
  if (group.self == 0)
    builder.reduce(stage.range, sched::output, contributions(group, stage.source, vector), vector);
  else
    builder.send(stage.range, stage.source, {rank_at(group, 0)}, vector);
}

void broadcast(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  const sched::Tag vector = tag(stage, sched::broadcast_phase, 0);
  if (group.self == 0)
    builder.send(stage.range, sched::output, others(group), vector);
  else
    builder.recv(stage.range, sched::output, rank_at(group, 0), vector);
}

Cost reduce_scatter_cost(int members) {
  if (members == 1) return {};
  const double p = members;
  Cost cost;
  cost.rounds = 1;
  cost.messages = p - 1;
  cost.sent = cost.published = cost.received = (p - 1) / p;
  cost.reduced = 1;
  return cost;
}

Cost all_gather_cost(int members) {
  if (members == 1) return {};
  const double p = members;
  Cost cost;
  cost.rounds = 1;
  cost.messages = p - 1;
  cost.sent = cost.received = (p - 1) / p;
  cost.published = 1 / p;
  return cost;
}

Cost all_reduce_cost(int members) {
  if (members == 1) return {};
  const double p = members;
  Cost cost;
  cost.rounds = 1;
  cost.messages = cost.sent = cost.received = p - 1;
  cost.published = cost.copied = 1;
  cost.reduced = p;
  return cost;
}

/// Member 0 only takes and reduces; the others only send.
Cost reduce_cost(int members) {
  if (members == 1) return {};
  const double p = members;
  Cost cost;
  cost.rounds = cost.messages = cost.sent = cost.published = 1;
  cost.received = p - 1;
  cost.reduced = p;
  return cost;
}

Cost broadcast_cost(int members) {
  if (members == 1) return {};
  const double p = members;
  Cost cost;
  cost.rounds = cost.published = cost.received = 1;
  cost.messages = cost.sent = p - 1;
  return cost;
}

} // namespace

Algorithm direct() {
  return {"direct",
          "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, section 4.4",
          {reduce_scatter, reduce_scatter_cost},
          {all_gather, all_gather_cost},
          {all_reduce, all_reduce_cost},
          {reduce, reduce_cost},
          {broadcast, broadcast_cost}};
}

} // namespace strata::coll
