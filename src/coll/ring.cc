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

int rounds(int members) { return members - 1; }

using Ring = ScatterAndGather<scatter, gather, rounds>;

Cost all_gather_cost(int members) {
  if (members == 1) return {};
  Cost cost;
  cost.rounds = cost.messages = rounds(members);
  cost.sent = cost.published = cost.received = 1 - 1.0 / members;
  return cost;
}

Cost reduce_scatter_cost(int members) { return backwards(all_gather_cost(members)); }
Cost all_reduce_cost(int members) { return reduce_scatter_cost(members) + all_gather_cost(members); }

} // namespace

Algorithm ring() {
  return {"ring",
          "Patarasuk and Yuan, JPDC 69(2), 2009, section 4",
          {Ring::reduce_scatter, reduce_scatter_cost},
          {Ring::all_gather, all_gather_cost},
          {Ring::all_reduce, all_reduce_cost}};
}

} // namespace strata::coll
