// SPDX-License-Identifier: BSD-3-Clause
#include "coll/negabinary.h"

#include <algorithm>

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
  steps_ = std::bit_width(static_cast<unsigned>(ring_ - 1));
  leaving_.resize(static_cast<std::size_t>(steps_));
  step_of_.assign(static_cast<std::size_t>(ring_), -1);
  std::vector<int> kept{0}; // distances of the parts that an even member brings to their owners after a step
  step_of_[0] = steps_;
  for (int step = steps_ - 1; step >= 0; --step) {
    auto& leaving = leaving_[static_cast<std::size_t>(step)];
    for (int distance : kept) { // of an even member's peer, whose distances run backwards
      const int seen_from_here = modulo(peer(0, step) - distance, ring_);
      int& leaves_in = step_of_[static_cast<std::size_t>(seen_from_here)];
      if (leaves_in >= 0) continue;
      leaves_in = step;
      leaving.push_back(seen_from_here);
    }
    kept.insert(kept.end(), leaving.begin(), leaving.end());
  }
}

int NegabinaryButterfly::peer(int member, int step) const {
  const int distance = rho(distances_ == Distances::growing ? step : steps_ - 1 - step);
  return modulo(member % 2 == 0 ? member + distance : member - distance, ring_);
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

std::vector<NegabinaryButterfly::Run> NegabinaryButterfly::runs_of(std::vector<int> distances, int member) const {
  for (int& distance : distances)
    distance = modulo(member % 2 == 0 ? member + distance : member - distance, ring_);
  std::sort(distances.begin(), distances.end());
  std::vector<Run> runs;
  for (int part : distances)
    if (runs.empty() || runs.back().last + 1 != part)
      runs.push_back({part, part});
    else
      runs.back().last = part;
  return runs;
}

std::vector<NegabinaryButterfly::Run> NegabinaryButterfly::given_away(int member, int step) const {
  if (ownership_ == Ownership::own_part) return runs_of(leaving_[static_cast<std::size_t>(step)], member);
  const int parts = ring_ >> (step + 1);
  const int first = part_of_member(peer(member, step)) & ~(parts - 1);
  return {{first, first + parts - 1}};
}

std::vector<NegabinaryButterfly::Run> NegabinaryButterfly::left_alone(int member) const {
  std::vector<int> distances;
  for (int distance = 0; distance < ring_; ++distance)
    if (step_of_[static_cast<std::size_t>(distance)] != 0 &&
        step_of_[static_cast<std::size_t>(modulo(peer(0, 0) - distance, ring_))] != 0)
      distances.push_back(distance);
  return runs_of(std::move(distances), member);
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
  if (stage.source != sched::output)
    for (const Run& run : left_alone(group.self))
      builder.copy(run.of(group, stage), sched::output, stage.source, direct);
  for (int step = 0; step < steps_; ++step) {
    const int other = peer(group.self, step);
    const std::int32_t rank = rank_at(group, other);
    const sched::Tag exchange = tag(stage, phase, step);
    const sched::Operand own = from(step == 0 ? stage.source : sched::output), theirs = from(rank, exchange);
    for (const Run& run : given_away(group.self, step))
      builder.send(run.of(group, stage), own.place, {rank}, exchange);
    std::vector<sched::Operand> operands = group.self < other ? std::vector{own, theirs} : std::vector{theirs, own};
    if (has_last() && step + 1 == steps_) operands.push_back(from(rank_at(group, ring_), direct));
    for (const Run& run : given_away(other, step))
      builder.reduce(run.of(group, stage), sched::output, operands, exchange);
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
  const auto leaves_in = [&](int distance) { return step_of_[static_cast<std::size_t>(modulo(distance, ring_))]; };
  int runs = 0;
  for (int distance = 1; distance < ring_; ++distance)
    if (leaves_in(distance) != leaves_in(distance - 1)) ++runs;
  Messages most;
  for (int member = 0; member < ring_; member += 2) {
    const int end = -member - 1;
    const int scatter = runs + (leaves_in(end) == leaves_in(end + 1) ? 1 : 0);
    int gather = runs;
    for (int step = 0; step < steps_; ++step) {
      const int end_of_peer = member + peer(0, step); // an odd member's distances run backwards
      if (leaves_in(end_of_peer) == step && leaves_in(end_of_peer + 1) == step) ++gather;
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
  if (ownership_ == Ownership::own_part)
    for (const Run& run : left_alone(0))
      one.copied += static_cast<double>(run.last - run.first + 1) / members_;
  return one;
}

Cost NegabinaryButterfly::all_gather_cost() const { return members_ == 1 ? Cost{} : cost(1, messages().gather); }

Cost NegabinaryButterfly::all_reduce_cost() const {
  if (members_ == 1) return {};
  const Cost scatter = reduce_scatter_cost();
  Cost both = cost(2, messages().both);
  both.reduced = scatter.reduced;
  both.copied = scatter.copied;
  return both;
}

} // namespace strata::coll
