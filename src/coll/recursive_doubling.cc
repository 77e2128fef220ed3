// SPDX-License-Identifier: BSD-3-Clause
// Recursive doubling (Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, section 4.5), and for the all-gather its form
// for any number of members (Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 8(11), 1997).
//
// All-reduce: in round k, members whose numbers differ in bit k exchange all that they have reduced so far:
//
//     round    0       1       2       3        after it every member has the sum over
//     0        0 <-> 1         2 <-> 3          its pair
//     1        0 <-----> 2     1 <-----> 3      its four
//
// Numbers are those of virtual members where the members are no power of two (see Folding): a pair's odd member first
// gives its contribution to the even one, and gets the result in the end. The operand of the lower members stands first
// on both sides of an exchange, so that all compute the same expression, in member order.
// A member must not overwrite what it sends before its peer has taken it, and the peer takes it when it writes its own
// sum: a circle, if sends are not buffered. So the sums alternate between output and scratch; where the last would
// end up in scratch, the first is a copy of the contribution.
//
// All-gather: before round k, member r has the chunks r … r+2^k-1 (the numbers wrap around), and sends them to r-2^k:
//
//     members = 5   member 0 has   sends to        Chunks are gathered where they belong, so a run that wraps around
//     round 0       0              4               is two messages.
//     round 1       0 1            3
//     round 2       0 1 2 3        1 (only 0)
//
// Cost per member, for S bytes: the all-reduce has log2(p) rounds and moves log2(p) * S each way (two rounds and up to
// S more if members are folded), for short vectors; the all-gather has ceil(log2(p)) rounds and moves (p-1)/p * S, the
// least possible.
#include "coll/families.h"

#include <algorithm>

namespace strata::coll {
namespace {

using sched::from;

void all_reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::all_reduce_phase);
  const Folding folding(group.size());
  const auto in_round = [&](int round) { return tag(stage, sched::all_reduce_phase, round); };
  const sched::Tag fold = in_round(folding.rounds), unfold = in_round(folding.rounds + 1);
  if (folding.silent(group.self)) {
    builder.send(stage.range, stage.source, {rank_at(group, group.self - 1)}, fold);
    builder.recv(stage.range, sched::output, rank_at(group, group.self - 1), unfold);
    return;
  }

  const sched::Place scratch = sched::scratch(builder.new_scratch_region());
  sched::Place sum = folding.rounds % 2 == 0 ? sched::output : scratch; // the last round writes output
  if (folding.folded(group.self))
    builder.reduce(stage.range, sum, {from(stage.source), from(rank_at(group, group.self + 1), fold)}, fold);
  else if (sum == scratch)
    builder.copy(stage.range, scratch, stage.source, in_round(0));
  else
    sum = stage.source;

  const int self = folding.virtual_of(group.self);
  for (int round = 0; round < folding.rounds; ++round) {
    const int peer = self ^ (1 << round);
    const std::int32_t peer_rank = rank_at(group, folding.speaker(peer));
    const sched::Operand own = from(sum), theirs = from(peer_rank, in_round(round));
    builder.send(stage.range, sum, {peer_rank}, in_round(round));
    sum = sum == scratch ? sched::output : scratch;
    builder.reduce(stage.range, sum, self < peer ? std::vector{own, theirs} : std::vector{theirs, own},
                   in_round(round));
  }
  if (folding.folded(group.self)) builder.send(stage.range, sched::output, {rank_at(group, group.self + 1)}, unfold);
}

void all_gather(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  int round = 0;
  for (int distance = 1; distance < group.size(); distance *= 2, ++round) {
    const sched::Tag chunks = tag(stage, sched::all_gather_phase, round);
    const int count = std::min(distance, group.size() - distance);
    for (sched::Range range : run_of_chunks(group, stage, group.self, count))
      builder.send(range, sched::output, {rank_at(group, group.self - distance)}, chunks);
    for (sched::Range range : run_of_chunks(group, stage, group.self + distance, count))
      builder.recv(range, sched::output, rank_at(group, group.self + distance), chunks);
  }
}

/// The busiest member is one that speaks for a pair.
Cost all_reduce_cost(int members) {
  if (members == 1) return {};
  const Folding folding(members);
  const double folds = folding.pairs > 0 ? 1 : 0;
  Cost cost;
  cost.rounds = folding.rounds + 2 * folds;
  cost.messages = cost.sent = cost.published = cost.received = folding.rounds + folds;
  cost.reduced = 2 * cost.received;
  cost.copied = folding.rounds % 2;
  return cost;
}

/// The busiest member is the last, whose runs of more than one chunk all wrap around.
Cost all_gather_cost(int members) {
  Cost cost;
  for (int distance = 1; distance < members; distance *= 2) {
    const int count = std::min(distance, members - distance);
    cost.rounds += 1;
    cost.messages += count > 1 ? 2 : 1;
  }
  cost.sent = cost.published = cost.received = static_cast<double>(members - 1) / members;
  return cost;
}

} // namespace

Algorithm recursive_doubling() {
  return {"recursive_doubling",
          "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, section 4.5; Bruck et al., IEEE TPDS 8(11), 1997",
          {},
          {all_gather, all_gather_cost},
          {all_reduce, all_reduce_cost}};
}

} // namespace strata::coll
