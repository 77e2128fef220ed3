// SPDX-License-Identifier: BSD-3-Clause
// Ring (Patarasuk and Yuan, JPDC 69(2), 2009, section 4).
//
// Reduce-scatter: the range is cut into p chunks. In step s = 0..p-2, member r sends chunk r-s-1 to r+1 and reduces
// what arrives from r-1 with its own contribution into chunk r-s-2, so that after p-1 steps member r holds chunk r of
// the sum:
//
//     step     member 0      member 1      member 2
//     0      send 2 to 1   send 0 to 2   send 1 to 0
//     1      send 1 to 1   send 2 to 2   send 0 to 0
//
// All-gather: in step s, member r sends chunk r-s to r+1 and gets chunk r-s-1 from r-1:
//
//     step     member 0      member 1      member 2
//     0      send 0 to 1   send 1 to 2   send 2 to 0
//     1      send 2 to 1   send 0 to 2   send 1 to 0
//
// All-reduce: one after the other.
//
// Cost per member, for S bytes: p-1 messages one after the other and (p-1)/p * S bytes each way in each of the two, all
// between neighbours; reductions read 2(p-1)/p * S. Best for long vectors, and for links that are good only between
// neighbours.
// Operands are ordered by distance along the ring: chunk c is ((c+1) + (c+2)) + … + c, not member order, but one member
// computes each chunk, so all get the same.
#include "coll/families.h"

namespace strata::coll {
namespace {

using sched::from;

void scatter(sched::ProgramBuilder& builder, const Group& group, const Stage& stage, sched::Phase phase) {
  const std::int32_t next = rank_at(group, group.self + 1);
  const std::int32_t previous = rank_at(group, group.self - 1);
  for (int step = 0; step <= group.size() - 2; ++step) {
    const sched::Tag chunk = tag(stage, phase, step);
    const sched::Place partial = step == 0 ? stage.source : sched::output;
    builder.send(part_at(group, stage, group.self - step - 1), partial, {next}, chunk);
    builder.reduce(part_at(group, stage, group.self - step - 2), sched::output,
                   {from(previous, chunk), from(stage.source)}, chunk);
  }
}

void gather(sched::ProgramBuilder& builder, const Group& group, const Stage& stage, sched::Phase phase,
            int first_round) {
  const std::int32_t next = rank_at(group, group.self + 1);
  const std::int32_t previous = rank_at(group, group.self - 1);
  for (int step = 0; step <= group.size() - 2; ++step) {
    const sched::Tag chunk = tag(stage, phase, first_round + step);
    builder.send(part_at(group, stage, group.self - step), sched::output, {next}, chunk);
    builder.recv(part_at(group, stage, group.self - step - 1), sched::output, previous, chunk);
  }
}

void reduce_scatter(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::reduce_scatter_phase);
  scatter(builder, group, stage, sched::reduce_scatter_phase);
}

void all_gather(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  gather(builder, group, stage, sched::all_gather_phase, 0);
}

void all_reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::all_reduce_phase);
  scatter(builder, group, stage, sched::all_reduce_phase);
  gather(builder, group, stage, sched::all_reduce_phase, group.size() - 1);
}

Cost all_gather_cost(int members) {
  if (members == 1) return {};
  const double p = members;
  Cost cost;
  cost.rounds = cost.messages = p - 1;
  cost.sent = cost.published = cost.received = (p - 1) / p;
  return cost;
}

Cost reduce_scatter_cost(int members) {
  Cost cost = all_gather_cost(members);
  cost.reduced = 2 * cost.received;
  return cost;
}

Cost all_reduce_cost(int members) {
  const Cost one = reduce_scatter_cost(members);
  Cost cost;
  cost.rounds = 2 * one.rounds;
  cost.messages = 2 * one.messages;
  cost.sent = cost.published = cost.received = 2 * one.sent;
  cost.reduced = one.reduced;
  return cost;
}

} // namespace

Algorithm ring() {
  return {"ring",
          "Patarasuk and Yuan, JPDC 69(2), 2009, section 4",
          {reduce_scatter, reduce_scatter_cost},
          {all_gather, all_gather_cost},
          {all_reduce, all_reduce_cost}};
}

} // namespace strata::coll
