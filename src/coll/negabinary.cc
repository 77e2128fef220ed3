// SPDX-License-Identifier: BSD-3-Clause
#include "coll/negabinary.h"

#include <algorithm>
#include <utility>

namespace strata::coll {

using sched::from;

namespace {

/// The sum of the powers 0 … `step` of -2.
int rho(int step) { return (1 + (step % 2 == 0 ? 2 << step : -(2 << step))) / 3; }

int modulo(int number, int ring) { return (number % ring + ring) % ring; }

} // namespace

sched::Range NegabinaryButterfly::Run::of(const Group& group, const Stage& stage) const {
  return {part_at(group, stage, first).begin, part_at(group, stage, last).end};
}

NegabinaryButterfly::NegabinaryButterfly(int members, Distances distances, Ownership ownership)
    : members_(members), ring_(members - members % 2), distances_(distances), ownership_(ownership) {
  if (ring_ == 0) return;
  steps_ = static_cast<int>(std::bit_width(static_cast<unsigned>(ring_ - 1)));
  if (ownership_ == Ownership::for_one_range) return; // is computed member by member
  leaving_.resize(static_cast<std::size_t>(steps_));
  leaves_in_.assign(static_cast<std::size_t>(ring_), -1);
  arrives_in_.assign(static_cast<std::size_t>(ring_), steps_);
  std::vector<int> kept{0}; // what a member brings to its owners after a step
  leaves_in_[0] = steps_;
  for (int step = steps_ - 1; step >= 0; --step) {
    auto& leaving = leaving_[static_cast<std::size_t>(step)];
    for (int distance : kept) { // of the peer, who sees the ring the other way around
      const int from_here = modulo(peer(0, step) - distance, ring_);
      if (leaves_in_[static_cast<std::size_t>(from_here)] >= 0) continue;
      leaves_in_[static_cast<std::size_t>(from_here)] = step;
      arrives_in_[static_cast<std::size_t>(distance)] = step;
      leaving.push_back(from_here);
    }
    kept.insert(kept.end(), leaving.begin(), leaving.end());
  }
}

int NegabinaryButterfly::peer(int member, int step) const {
  const int distance = rho(distances_ == Distances::growing ? step : steps_ - 1 - step);
  return modulo(member % 2 == 0 ? member + distance : member - distance, ring_);
}

int NegabinaryButterfly::distance_to(int member, int part) const {
  return modulo(member % 2 == 0 ? part - member : member - part, ring_);
}

bool NegabinaryButterfly::has_sum(int member, int part, int step) const {
  if (ownership_ == Ownership::for_one_range) return step > 0;
  return arrives_in_[static_cast<std::size_t>(distance_to(member, part))] < step;
}

// For one range, a member's own part is found bit by bit, the first step's choice being the highest bit. After step s
// the members that still meet are those whose pairs in the last step have even members that agree in their lowest s+2
// bits: two steps after that lead an even member on by a multiple of 2^(s+2).
int NegabinaryButterfly::part_of_member(int member) const {
  if (ownership_ == Ownership::own_part || member == ring_) return member;
  const int even = member % 2 == 0 ? member : peer(member, steps_ - 1);
  int part = member % 2;
  for (int bit = 1; bit < steps_; ++bit)
    if ((even >> bit & 1) != 0) part |= 1 << (steps_ - bit);
  return part;
}

bool NegabinaryButterfly::go_together(int distance, int next) const {
  const int a = modulo(distance, ring_), b = modulo(next, ring_);
  const int step = leaves_in_[static_cast<std::size_t>(a)];
  if (step != leaves_in_[static_cast<std::size_t>(b)]) return false;
  const int other = peer(0, step);
  return has_sum(0, a, step) == has_sum(0, b, step) && has_sum(other, a, step) == has_sum(other, b, step);
}

std::vector<NegabinaryButterfly::Run> NegabinaryButterfly::given_away(int member, int step) const {
  if (ownership_ == Ownership::for_one_range) {
    const int parts = ring_ >> (step + 1);
    const int first = part_of_member(peer(member, step)) & ~(parts - 1);
    return {{first, first + parts - 1}};
  }
  std::vector<int> parts;
  for (int distance : leaving_[static_cast<std::size_t>(step)])
    parts.push_back(modulo(member % 2 == 0 ? member + distance : member - distance, ring_));
  std::sort(parts.begin(), parts.end());
  std::vector<Run> runs;
  for (int part : parts)
    if (!runs.empty() && runs.back().last + 1 == part &&
        go_together(distance_to(member, part - 1), distance_to(member, part)))
      runs.back().last = part;
    else
      runs.push_back({part, part});
  return runs;
}

void NegabinaryButterfly::reduce_scatter_of_last(sched::ProgramBuilder& builder, const Group& group, const Stage& stage,
                                                 sched::Tag direct) const {
  std::vector<sched::Operand> contributions;
  for (int member = 0; member < ring_; ++member) {
    builder.send(part_at(group, stage, part_of_member(member)), stage.source, {rank_at(group, member)}, direct);
    contributions.push_back(from(rank_at(group, member), direct));
  }
  contributions.push_back(from(stage.source));
  builder.reduce(part_at(group, stage, ring_), sched::output, std::move(contributions), direct);
}

void NegabinaryButterfly::reduce_scatter(sched::ProgramBuilder& builder, const Group& group, const Stage& stage,
                                         sched::Phase phase) const {
  const sched::Tag direct = tag(stage, phase, 0);
  if (group.self == ring_) return reduce_scatter_of_last(builder, group, stage, direct);
  if (has_last()) builder.send(part_at(group, stage, ring_), stage.source, {rank_at(group, ring_)}, direct);
  for (int step = 0; step < steps_; ++step) {
    const int other = peer(group.self, step);
    const std::int32_t rank = rank_at(group, other);
    const sched::Tag exchange = tag(stage, phase, step);
    const auto own_of = [&](const Run& run) {
      return has_sum(group.self, run.first, step) ? sched::output : stage.source;
    };
    for (const Run& run : given_away(group.self, step))
      builder.send(run.of(group, stage), own_of(run), {rank}, exchange);
    for (const Run& run : given_away(other, step)) {
      std::vector<sched::Operand> operands{from(own_of(run)), from(rank, exchange)};
      if (other < group.self) std::swap(operands[0], operands[1]);
      if (has_last() && step + 1 == steps_) operands.push_back(from(rank_at(group, ring_), direct));
      builder.reduce(run.of(group, stage), sched::output, std::move(operands), exchange);
    }
  }
}

void NegabinaryButterfly::all_gather(sched::ProgramBuilder& builder, const Group& group, const Stage& stage,
                                     sched::Phase phase, int first_round) const {
  const sched::Tag direct = tag(stage, phase, first_round);
  const sched::Range own = part_at(group, stage, part_of_member(group.self));
  if (group.self == ring_) {
    std::vector<std::int32_t> others(group.ranks.begin(), group.ranks.end() - 1);
    builder.send(own, sched::output, std::move(others), direct);
    for (int member = 0; member < ring_; ++member)
      builder.recv(part_at(group, stage, part_of_member(member)), sched::output, rank_at(group, member), direct);
    return;
  }
  if (has_last()) {
    builder.send(own, sched::output, {rank_at(group, ring_)}, direct);
    builder.recv(part_at(group, stage, ring_), sched::output, rank_at(group, ring_), direct);
  }
  for (int step = steps_ - 1; step >= 0; --step) {
    const int other = peer(group.self, step);
    const sched::Tag exchange = tag(stage, phase, first_round + steps_ - 1 - step);
    for (const Run& run : given_away(other, step))
      builder.send(run.of(group, stage), sched::output, {rank_at(group, other)}, exchange);
    for (const Run& run : given_away(group.self, step))
      builder.recv(run.of(group, stage), sched::output, rank_at(group, other), exchange);
  }
}

// Around the ring a step's parts make the same number of runs for every member. A run that crosses the end of the range
// is two: seen from an even member, the end lies behind a part at some odd distance, and likewise from odd members, so
// the even ones stand for all.
NegabinaryButterfly::Messages NegabinaryButterfly::messages() const {
  if (ownership_ == Ownership::for_one_range) return {steps_, steps_, 2 * steps_};
  // Each is asked for by many members, of thousands in a large job.
  std::vector<bool> joined; // by distance: with the next
  std::vector<int> peers;   // by step: of member 0
  for (int distance = 0; distance < ring_; ++distance)
    joined.push_back(go_together(distance, distance + 1));
  for (int step = 0; step < steps_; ++step)
    peers.push_back(peer(0, step));
  const auto runs = static_cast<int>(std::count(joined.begin(), joined.end() - 1, false));
  Messages most;
  for (int member = 0; member < ring_; member += 2) {
    const int scatter = runs + (joined[static_cast<std::size_t>(ring_ - 1 - member)] ? 1 : 0);
    int gather = runs;
    for (int step = 0; step < steps_; ++step) {
      const int beyond = member + peers[static_cast<std::size_t>(step)];
      const auto end_of_peer = static_cast<std::size_t>(beyond < ring_ ? beyond : beyond - ring_); // who is odd
      if (leaves_in_[end_of_peer] == step && joined[end_of_peer]) ++gather;
    }
    most.scatter = std::max(most.scatter, scatter);
    most.gather = std::max(most.gather, gather);
    most.both = std::max(most.both, scatter + gather);
  }
  return most;
}

/// What `times` passes through the butterfly have in common. The last of an odd number of members sends a message to
/// each other, which is more than they send.
Cost NegabinaryButterfly::cost(int times, int messages) const {
  Cost cost;
  cost.rounds = times * steps_;
  cost.messages = has_last() ? times * ring_ : messages;
  cost.sent = cost.published = cost.received = times * (1 - 1.0 / members_);
  return cost;
}

Cost NegabinaryButterfly::reduce_scatter_cost() const {
  if (members_ == 1) return {};
  Cost one = cost(1, messages().scatter);
  one.reduced = 2 * one.received - (has_last() ? 1.0 / members_ : 0); // three operands at once in the last step
  return one;
}

Cost NegabinaryButterfly::all_gather_cost() const { return members_ == 1 ? Cost{} : cost(1, messages().gather); }

Cost NegabinaryButterfly::all_reduce_cost() const {
  if (members_ == 1) return {};
  const Cost scatter = reduce_scatter_cost();
  Cost both = cost(2, messages().both);
  both.reduced = scatter.reduced;
  return both;
}

} // namespace strata::coll
