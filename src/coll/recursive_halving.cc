// SPDX-License-Identifier: BSD-3-Clause
// Recursive halving and doubling (Rabenseifner, ICCS 2004; Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005,
// sections 4.4 and 4.5).
//
// Reduce-scatter: the members are halved again and again. A member exchanges with the one at its place in the other
// half: it gives away the chunks that the other half is to own, and reduces what it gets into the chunks of its own
// half:
//
//     distance   member 0              member 1              member 2              member 3
//     2          send 2 3 to 2         send 2 3 to 3         send 0 1 to 0         send 0 1 to 1
//     1          send 1 to 1           send 0 to 0           send 3 to 3           send 2 to 2
//     has        chunk 0               chunk 1               chunk 2               chunk 3
//
// All-gather: the same exchanges backwards (recursive doubling), each member sending what it has.
// All-reduce: one after the other.
//
// Where the members are no power of two, they are virtual members (see Folding), each owning the chunks of its members.
// A pair's odd member first gives all of its contribution to the even one, and gets its chunk (all-reduce and
// all-gather: everything) in the end.
//
// Cost per member, for S bytes and p a power of two: log2(p) rounds and (p-1)/p * S each way in each of the two, which
// is the least possible of both; reductions read 2(p-1)/p * S. Folding adds two rounds and up to S each way, so direct
// or ring are better then for long vectors. Half of all bytes go over the longest distance.
// The operand of the lower members stands first: chunk 0 of four members is (0 + 2) + (1 + 3). One virtual member
// computes each chunk, so all get the same.
#include "coll/families.h"

#include <utility>

namespace strata::coll {
namespace {

using sched::from;

/// The member as a virtual member, while it works on the range with its like.
struct Virtual {
  sched::ProgramBuilder& builder;
  const Group& group;
  const Stage& stage;
  sched::Phase phase;
  Folding folding{group.size()};
  int self = folding.virtual_of(group.self);

  sched::Tag in_round(int round) const { return tag(stage, phase, round); }
  std::int32_t rank_of(int virtual_member) const { return rank_at(group, folding.speaker(virtual_member)); }

  /// The chunks of `count` virtual members, those around `member` if they are halved down to groups of `count`.
  sched::Range chunks(int member, int count) const {
    const int first = member & ~(count - 1);
    return {part_at(group, stage, folding.speaker(first)).begin,
            part_at(group, stage, folding.speaker(first + count) - 1).end};
  }

  /// Returns the next free round.
  int reduce_by_halving(int round) const {
    sched::Place sum = folding.folded(group.self) ? sched::output : stage.source;
    for (int distance = folding.virtual_members() / 2; distance >= 1; distance /= 2, ++round) {
      const int peer = self ^ distance;
      const sched::Operand own = from(sum), theirs = from(rank_of(peer), in_round(round));
      builder.send(chunks(peer, distance), sum, {rank_of(peer)}, in_round(round));
      builder.reduce(chunks(self, distance), sched::output,
                     self < peer ? std::vector{own, theirs} : std::vector{theirs, own}, in_round(round));
      sum = sched::output;
    }
    return round;
  }

  int gather_by_doubling(int round) const {
    for (int distance = 1; distance < folding.virtual_members(); distance *= 2, ++round) {
      const int peer = self ^ distance;
      builder.send(chunks(self, distance), sched::output, {rank_of(peer)}, in_round(round));
      builder.recv(chunks(peer, distance), sched::output, rank_of(peer), in_round(round));
    }
    return round;
  }
};

// Each form is told for a pair's silent member and for one that speaks; `pair` is then the other one of the pair, and
// folding and unfolding have the rounds 0 and `last`, the same on both sides.

void reduce_scatter(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::reduce_scatter_phase);
  const Virtual member{builder, group, stage, sched::reduce_scatter_phase};
  const sched::Tag fold = member.in_round(0), unfold = member.in_round(member.folding.rounds + 1);
  if (member.folding.silent(group.self)) {
    const std::int32_t pair = rank_at(group, group.self - 1);
    builder.send(stage.range, stage.source, {pair}, fold);
    builder.recv(part_at(group, stage, group.self), sched::output, pair, unfold);
    return;
  }
  const std::int32_t pair = rank_at(group, group.self + 1);
  const bool folded = member.folding.folded(group.self);
  if (folded) builder.reduce(stage.range, sched::output, {from(stage.source), from(pair, fold)}, fold);
  member.reduce_by_halving(1);
  if (folded) builder.send(part_at(group, stage, group.self + 1), sched::output, {pair}, unfold);
}

void all_gather(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  const Virtual member{builder, group, stage, sched::all_gather_phase};
  const sched::Tag fold = member.in_round(0), unfold = member.in_round(member.folding.rounds + 1);
  if (member.folding.silent(group.self)) {
    const std::int32_t pair = rank_at(group, group.self - 1);
    builder.send(part_at(group, stage, group.self), sched::output, {pair}, fold);
    builder.recv(stage.range, sched::output, pair, unfold);
    return;
  }
  const std::int32_t pair = rank_at(group, group.self + 1);
  const bool folded = member.folding.folded(group.self);
  if (folded) builder.recv(part_at(group, stage, group.self + 1), sched::output, pair, fold);
  member.gather_by_doubling(1);
  if (folded) builder.send(stage.range, sched::output, {pair}, unfold);
}

void all_reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::all_reduce_phase);
  const Virtual member{builder, group, stage, sched::all_reduce_phase};
  const sched::Tag fold = member.in_round(0), unfold = member.in_round(2 * member.folding.rounds + 1);
  if (member.folding.silent(group.self)) {
    const std::int32_t pair = rank_at(group, group.self - 1);
    builder.send(stage.range, stage.source, {pair}, fold);
    builder.recv(stage.range, sched::output, pair, unfold);
    return;
  }
  const std::int32_t pair = rank_at(group, group.self + 1);
  const bool folded = member.folding.folded(group.self);
  if (folded) builder.reduce(stage.range, sched::output, {from(stage.source), from(pair, fold)}, fold);
  member.gather_by_doubling(member.reduce_by_halving(1));
  if (folded) builder.send(stage.range, sched::output, {pair}, unfold);
}

// The busiest member is the first: folding begins with it, so the halves around it have the most chunks. Only the whole
// range that a pair's odd member sends or gets in one message may be more.

/// What the first virtual member gets while it halves, or sends while it doubles.
double moved_by_first(int members) {
  const Folding folding(members);
  double chunks = 0;
  for (int count = 1; count < folding.virtual_members(); count *= 2)
    chunks += folding.speaker(count);
  return chunks / members;
}

Cost reduce_scatter_cost(int members) {
  if (members == 1) return {};
  const Folding folding(members);
  const double folds = folding.pairs > 0 ? 1 : 0;
  Cost cost;
  cost.rounds = folding.rounds + 2 * folds;
  cost.messages = folding.rounds + folds;
  cost.sent = cost.published = folds > 0 ? 1 : 1 - 1.0 / members;
  cost.received = moved_by_first(members) + folds;
  cost.reduced = 2 * cost.received;
  return cost;
}

Cost all_gather_cost(int members) {
  Cost cost = reduce_scatter_cost(members);
  std::swap(cost.sent, cost.received);
  cost.published = cost.sent;
  cost.reduced = 0;
  return cost;
}

Cost all_reduce_cost(int members) {
  if (members == 1) return {};
  const Folding folding(members);
  const double folds = folding.pairs > 0 ? 1 : 0;
  const double given_away = 1 - (1 + folds) / members;
  Cost cost;
  cost.rounds = 2 * folding.rounds + 2 * folds;
  cost.messages = 2 * folding.rounds + folds;
  cost.sent = cost.published = cost.received = given_away + moved_by_first(members) + folds;
  cost.reduced = 2 * (moved_by_first(members) + folds);
  return cost;
}

} // namespace

Algorithm recursive_halving() {
  return {"recursive_halving",
          "Rabenseifner, ICCS 2004; Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, sections 4.4 and 4.5",
          {reduce_scatter, reduce_scatter_cost},
          {all_gather, all_gather_cost},
          {all_reduce, all_reduce_cost}};
}

} // namespace strata::coll
