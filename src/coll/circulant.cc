// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter and all-gather on a circulant graph (Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce
// Algorithms", arXiv 2410.14234, 2024; the all-gather as Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 8(11),
// 1997, with other distances).
//
// Distances are p, halved and rounded up until they are 1: s0 = p, s1 = ceil(p/2), …. Think of the chunks as seen from
// each member: its own is number 0, that of the next member number 1. Reduce-scatter: in round k a member holds the
// chunks 0 … sk - 1, gives those from s(k+1) on to the member s(k+1) further, for which they begin with its own, and
// reduces what it gets into its first chunks:
//
//     members = 5: 5 3 2 1       member 0                          member 1
//     round 0, distance 3        chunks 3 4 to 3                   chunks 4 0 to 4
//     round 1, distance 2        chunk 2 to 2                      chunk 3 to 3
//     round 2, distance 1        chunk 1 to 1                      chunk 2 to 2
//     has                        chunk 0                           chunk 1
//
// All-gather: the same exchanges backwards. All-reduce: one after the other.
// Chunks lie where they belong, so a run that wraps around is two messages. If p is odd, chunk s1 - 1 has got nothing
// in round 0 and leaves in round 1 with others that have: it is copied to where they are (in place: it is there).
//
// Cost per member, for S bytes and any p: ceil(log2(p)) rounds and (p-1)/p * S each way in each of the two, which is
// the least possible of both; the reduction reads 2(p-1)/p * S.
// Operands are in the order of the distances, not of the members; one member computes each chunk, so all get the same.
#include "coll/families.h"

namespace strata::coll {
namespace {

using sched::from;

/// p, halved and rounded up until it is 1.
std::vector<int> distances_of(int members) {
  std::vector<int> distances{members};
  while (distances.back() > 1)
    distances.push_back((distances.back() + 1) / 2);
  return distances;
}

/// Whether a chunk that got nothing in round 0 leaves in round 1 after others that have.
bool has_straggler(int members) { return members % 2 == 1 && members >= 7; }

void scatter(sched::ProgramBuilder& builder, const Group& group, const Stage& stage, sched::Phase phase) {
  const std::vector<int> distances = distances_of(group.size());
  const int first_sums = group.size() / 2; // of this member's chunks, after round 0
  for (std::size_t k = 0; k + 1 < distances.size(); ++k) {
    const int distance = distances[k + 1], chunks = distances[k] - distance;
    const sched::Tag round = tag(stage, phase, static_cast<int>(k));
    const std::int32_t receiver = rank_at(group, group.self + distance);
    const std::int32_t sender = rank_at(group, group.self - distance);
    const auto exchange = [&](int first, int count) {
      const sched::Place leaving = k > 0 && distance + first < first_sums ? sched::output : stage.source;
      for (sched::Range range : run_of_chunks(group, stage, group.self + distance + first, count))
        builder.send(range, leaving, {receiver}, round);
      const sched::Place own = k > 0 ? sched::output : stage.source;
      for (sched::Range range : run_of_chunks(group, stage, group.self + first, count))
        builder.reduce(range, sched::output, {from(own), from(sender, round)}, round);
    };
    const int stragglers = k == 1 && has_straggler(group.size()) ? 1 : 0;
    exchange(0, chunks - stragglers);
    if (stragglers > 0) exchange(chunks - stragglers, stragglers);
  }
}

void gather(sched::ProgramBuilder& builder, const Group& group, const Stage& stage, sched::Phase phase,
            int first_round) {
  const std::vector<int> distances = distances_of(group.size());
  for (std::size_t k = distances.size() - 1; k > 0; --k) {
    const int distance = distances[k], chunks = distances[k - 1] - distance;
    const sched::Tag round = tag(stage, phase, first_round + static_cast<int>(distances.size() - 1 - k));
    for (sched::Range range : run_of_chunks(group, stage, group.self, chunks))
      builder.send(range, sched::output, {rank_at(group, group.self - distance)}, round);
    for (sched::Range range : run_of_chunks(group, stage, group.self + distance, chunks))
      builder.recv(range, sched::output, rank_at(group, group.self + distance), round);
  }
}

int rounds(int members) { return static_cast<int>(std::bit_width(static_cast<unsigned>(members - 1))); }

using Circulant = ScatterAndGather<scatter, gather, rounds>;

/// Rounds whose messages have more than one chunk, so that they may wrap around.
int rounds_that_wrap(int members) {
  const std::vector<int> distances = distances_of(members);
  int rounds = 0;
  for (std::size_t k = 0; k + 1 < distances.size(); ++k)
    if (distances[k] - distances[k + 1] > 1) ++rounds;
  return rounds;
}

/// The busiest member is the last, whose runs all wrap around.
Cost all_gather_cost(int members) {
  if (members == 1) return {};
  Cost cost;
  cost.rounds = rounds(members);
  cost.messages = cost.rounds + rounds_that_wrap(members);
  cost.sent = cost.published = cost.received = 1 - 1.0 / members;
  return cost;
}

/// No member has more than one run that wraps around: those of one round end where those of the round before begin.
Cost reduce_scatter_cost(int members) {
  Cost cost = backwards(all_gather_cost(members));
  cost.messages = cost.rounds + (rounds_that_wrap(members) > 0 ? 1 : 0) + (has_straggler(members) ? 1 : 0);
  return cost;
}

/// The last member's runs wrap around in the all-gather only.
Cost all_reduce_cost(int members) {
  const Cost gather = all_gather_cost(members);
  Cost cost = backwards(gather) + gather;
  cost.messages = gather.messages + gather.rounds + (has_straggler(members) ? 1 : 0);
  return cost;
}

} // namespace

Algorithm circulant() {
  return {"circulant",
          "Träff, arXiv 2410.14234, 2024; Bruck et al., IEEE TPDS 8(11), 1997",
          {Circulant::reduce_scatter, reduce_scatter_cost},
          {Circulant::all_gather, all_gather_cost},
          {Circulant::all_reduce, all_reduce_cost}};
}

} // namespace strata::coll
