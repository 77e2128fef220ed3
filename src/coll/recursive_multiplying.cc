// SPDX-License-Identifier: BSD-3-Clause
// Recursive multiplying (Ruefenacht, Bull and Booth, "Generalisation of recursive doubling for AllReduce: Now with
// simulation", Parallel Computing 69, 2017): recursive doubling with more than two members in an exchange.
//
// The number of members is a product of radices k0, k1, …; a member's number has a digit for each. In round i, the
// members whose numbers differ in digit i only, ki of them, send each other all that they have reduced so far, and
// each reduces it in one pass, in member order:
//
//     members = 12 = 4 * 3     round 0   0 1 2 3     4 5 6 7     8 9 10 11
//                              round 1   0 4 8   1 5 9   2 6 10   3 7 11
//
// Radices are chosen for the fewest rounds, then for the fewest messages, up to 4 (or 8: recursive_multiplying_8), and
// 5 and 7 where they are factors. Numbers with larger prime factors are folded (see Folding) to the largest one
// without: a pair's odd member first gives its contribution to the even one, and gets the result in the end.
// A member must not overwrite what it sends before its peers have taken it, and they take it when they write their own
// sums: a circle, if sends are not buffered. So the sums alternate between two regions of scratch, and only the last is
// written to output; where there is one round, what is sent is a copy.
//
// Cost per member, for S bytes: as many rounds as radices, the sum of (ki - 1) messages of S each way; a reduction
// reads the sum of ki * S. In shared memory one write serves all of an exchange. For short vectors.
// Operands are in member order, on all members the same.
//
// Dissemination (Hensgen, Finkel and Manber, Int. J. Parallel Programming 17(1), 1988) would do without folding in
// ceil(log2(p)) rounds, or with base k. But each member sums the others in an order that begins with itself, and so
// the members' floating-point results differ in their last bits. Spreading the contributions instead of sums
// (Bruck et al. 1997) takes a message for each here, as direct exchange does in one round.
#include "coll/families.h"

#include <algorithm>
#include <numeric>

namespace strata::coll {
namespace {

using sched::from;

constexpr int largest_prime = 7; ///< Larger ones are folded away.

int messages_of(const std::vector<int>& radices) {
  return std::accumulate(radices.begin(), radices.end(), 0) - static_cast<int>(radices.size());
}

/// The radices of `members`, none larger than `largest`, ascending; none if there are no such.
std::vector<int> radices_of(int members, int most, int largest) {
  std::vector<int> best;
  for (int radix = largest; radix >= 2; --radix) {
    if (members % radix != 0 || (radix > most && radix != 5 && radix != 7)) continue;
    std::vector<int> radices{radix};
    if (members > radix) {
      radices = radices_of(members / radix, most, radix);
      if (radices.empty()) continue;
      radices.push_back(radix);
    }
    const auto rounds = radices.size();
    if (best.empty() || rounds < best.size() || (rounds == best.size() && messages_of(radices) < messages_of(best)))
      best = std::move(radices);
  }
  return best;
}

struct Plan {
  Folding folding;
  std::vector<int> radices;
};

bool has_large_prime(int number) {
  for (int prime : {2, 3, 5, 7})
    while (number % prime == 0)
      number /= prime;
  return number > 1;
}

Plan plan_for(int members, int most) {
  int virtual_members = members;
  while (has_large_prime(virtual_members))
    --virtual_members;
  return {Folding(members, virtual_members), radices_of(virtual_members, most, std::max(most, largest_prime))};
}

template <int most>
void all_reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::all_reduce_phase);
  const auto [folding, radices] = plan_for(group.size(), most);
  const int rounds = static_cast<int>(radices.size());
  const auto in_round = [&](int round) { return tag(stage, sched::all_reduce_phase, round); };
  const sched::Tag fold = in_round(rounds), unfold = in_round(rounds + 1);
  if (folding.silent(group.self)) {
    builder.send(stage.range, stage.source, {rank_at(group, group.self - 1)}, fold);
    builder.recv(stage.range, sched::output, rank_at(group, group.self - 1), unfold);
    return;
  }

  std::vector<sched::Place> sums; // where a round's sum goes; folded members begin with one in output
  for (int round = 0; round + 1 < rounds; ++round)
    sums.push_back(round < 2 ? sched::scratch(builder.new_scratch_region())
                             : sums[static_cast<std::size_t>(round) - 2]);
  sums.push_back(sched::output);
  sched::Place sum = stage.source;
  if (folding.folded(group.self)) {
    sum = sched::output;
    builder.reduce(stage.range, sum, {from(stage.source), from(rank_at(group, group.self + 1), fold)}, fold);
  } else if (rounds == 1) {
    sum = sched::scratch(builder.new_scratch_region());
    builder.copy(stage.range, sum, stage.source, in_round(0));
  }

  const int self = folding.virtual_of(group.self);
  int stride = 1;
  for (int round = 0; round < rounds; ++round) {
    const int radix = radices[static_cast<std::size_t>(round)], digit = self / stride % radix;
    std::vector<std::int32_t> others;
    std::vector<sched::Operand> operands;
    for (int other = 0; other < radix; ++other) {
      const std::int32_t rank = rank_at(group, folding.speaker(self + (other - digit) * stride));
      operands.push_back(other == digit ? from(sum) : from(rank, in_round(round)));
      if (other != digit) others.push_back(rank);
    }
    builder.send(stage.range, sum, std::move(others), in_round(round));
    sum = sums[static_cast<std::size_t>(round)];
    builder.reduce(stage.range, sum, std::move(operands), in_round(round));
    stride *= radix;
  }
  if (folding.folded(group.self)) builder.send(stage.range, sched::output, {rank_at(group, group.self + 1)}, unfold);
}

/// The busiest member is one that speaks for a pair.
template <int most>
Cost all_reduce_cost(int members) {
  if (members == 1) return {};
  const auto [folding, radices] = plan_for(members, most);
  const double folds = folding.pairs > 0 ? 1 : 0;
  const auto rounds = static_cast<double>(radices.size());
  Cost cost;
  cost.rounds = rounds + 2 * folds;
  cost.messages = cost.sent = cost.received = messages_of(radices) + folds;
  cost.published = rounds + folds;
  cost.reduced = messages_of(radices) + rounds + 2 * folds;
  cost.copied = radices.size() == 1 ? 1 : 0;
  return cost;
}

constexpr const char* source = "Ruefenacht, Bull and Booth, Parallel Computing 69, 2017";

} // namespace

Algorithm recursive_multiplying() {
  return {"recursive_multiplying", source, {}, {}, {all_reduce<4>, all_reduce_cost<4>}};
}

Algorithm recursive_multiplying_8() {
  return {"recursive_multiplying_8", source, {}, {}, {all_reduce<8>, all_reduce_cost<8>}};
}

} // namespace strata::coll
