// SPDX-License-Identifier: BSD-3-Clause
// Random changes to a schedule: some that break any schedule without needless steps, some that may leave it right.
#pragma once

#include "verify_shapes.h"

#include <algorithm>
#include <optional>
#include <random>
#include <set>

namespace strata::verify::mutations {

using sched::Kind;
using sched::Operand;
using sched::Program;
using sched::Range;
using sched::Step;
using sched::StepIndex;
using Random = std::mt19937;

inline std::size_t draw(Random& random, std::size_t count) { return random() % count; }

/// A step of a schedule.
struct At {
  std::size_t rank = 0;
  std::size_t step = 0;
};

inline Step& step_at(Schedule& schedule, At at) { return schedule[at.rank].steps[at.step]; }

/// Any step for which `wanted` is true.
template <typename Wanted>
std::optional<At> draw_step(Random& random, Schedule& schedule, Wanted wanted) {
  std::vector<At> candidates;
  for (std::size_t rank = 0; rank < schedule.size(); ++rank)
    for (std::size_t step = 0; step < schedule[rank].steps.size(); ++step)
      if (wanted(schedule[rank].steps[step])) candidates.push_back({rank, step});
  if (candidates.empty()) return {};
  return candidates[draw(random, candidates.size())];
}

inline bool is_send(const Step& step) { return step.kind == Kind::send; }
inline bool is_no_send(const Step& step) { return step.kind != Kind::send; }
inline bool is_sum(const Step& step) { return step.kind == Kind::reduce && step.operands.size() > 1; }
inline bool takes_message(const Step& step) {
  return std::any_of(step.operands.begin(), step.operands.end(),
                     [](const Operand& operand) { return operand.kind == Operand::Kind::message; });
}

/// A message: a send, one of its peers, and the step and operand that take it.
struct Message {
  At send, taker;
  std::size_t peer = 0, operand = 0;
};

inline std::vector<Message> messages_of(const Schedule& schedule) {
  std::vector<Message> all;
  for (std::size_t from = 0; from < schedule.size(); ++from)
    for (std::size_t s = 0; s < schedule[from].steps.size(); ++s) {
      const Step& send = schedule[from].steps[s];
      for (std::size_t p = 0; p < send.peers.size(); ++p) {
        const auto to = static_cast<std::size_t>(send.peers[p]);
        for (std::size_t t = 0; t < schedule[to].steps.size(); ++t) {
          const Step& taker = schedule[to].steps[t];
          const auto taken =
              std::find(taker.operands.begin(), taker.operands.end(), sched::from(static_cast<int>(from), send.tag));
          if (taker.range.begin != send.range.begin || taken == taker.operands.end()) continue;
          all.push_back({{from, s}, {to, t}, p, static_cast<std::size_t>(taken - taker.operands.begin())});
        }
      }
    }
  return all;
}

/// Removes a step; those that depended on it depend on what it depended on.
inline void remove_step(Program& program, std::size_t index) {
  const auto gone = static_cast<StepIndex>(index);
  const std::vector<StepIndex> inherited = program.steps[index].dependencies;
  program.steps.erase(program.steps.begin() + gone);
  for (Step& step : program.steps) {
    std::set<StepIndex> renumbered;
    for (StepIndex dependency : step.dependencies) {
      if (dependency == gone)
        renumbered.insert(inherited.begin(), inherited.end());
      else
        renumbered.insert(dependency > gone ? dependency - 1 : dependency);
    }
    step.dependencies.assign(renumbered.begin(), renumbered.end());
  }
}

/// Whether a step would still come after `earlier` if it did not depend on it directly.
inline bool follows_anyway(const Program& program, const Step& step, StepIndex earlier) {
  return std::any_of(step.dependencies.begin(), step.dependencies.end(), [&](StepIndex other) {
    if (other <= earlier) return false;
    const Step& before = program.steps[static_cast<std::size_t>(other)];
    return std::binary_search(before.dependencies.begin(), before.dependencies.end(), earlier) ||
           follows_anyway(program, before, earlier);
  });
}

// Mutations that break a schedule. Each returns false if it finds nothing to change.

inline bool drop_step(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, [](const Step&) { return true; });
  remove_step(schedule[at->rank], at->step);
  return true;
}

inline bool drop_message_at_both_ends(Random& random, Schedule& schedule) {
  const auto messages = messages_of(schedule);
  const Message message = messages[draw(random, messages.size())];
  Step& taker = step_at(schedule, message.taker);
  taker.operands.erase(taker.operands.begin() + static_cast<std::ptrdiff_t>(message.operand));
  if (taker.operands.empty()) remove_step(schedule[message.taker.rank], message.taker.step);
  Step& send = step_at(schedule, message.send);
  send.peers.erase(send.peers.begin() + static_cast<std::ptrdiff_t>(message.peer));
  if (send.peers.empty()) remove_step(schedule[message.send.rank], message.send.step);
  return true;
}

inline bool swap_tags_of_two_sends(Random& random, Schedule& schedule) {
  const auto one = draw_step(random, schedule, is_send);
  const sched::Tag tag = step_at(schedule, *one).tag;
  const auto other = draw_step(random, schedule, [&](const Step& step) { return is_send(step) && step.tag != tag; });
  if (!other) return false;
  std::swap(step_at(schedule, *one).tag, step_at(schedule, *other).tag);
  return true;
}

inline bool cross_two_messages_of_one_range_between_two_ranks(Random& random, Schedule& schedule) {
  // Both messages still have two ends, but each taker gets the other's.
  const auto at = draw_step(random, schedule, is_send);
  Step& one = step_at(schedule, *at);
  for (Step& other : schedule[at->rank].steps)
    if (is_send(other) && other.peers == one.peers && other.range == one.range && other.tag != one.tag) {
      std::swap(one.tag, other.tag);
      return true;
    }
  return false;
}

inline bool send_to_another_peer(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule,
                            [&](const Step& step) { return is_send(step) && step.peers.size() + 1 < schedule.size(); });
  if (!at) return false;
  Step& send = step_at(schedule, *at);
  std::int32_t peer = 0;
  while (peer == static_cast<int>(at->rank) ||
         std::find(send.peers.begin(), send.peers.end(), peer) != send.peers.end())
    ++peer;
  send.peers[draw(random, send.peers.size())] = peer;
  return true;
}

inline bool take_from_another_peer(Random& random, Schedule& schedule) {
  if (schedule.size() < 3) return false;
  const auto at = draw_step(random, schedule, takes_message);
  for (Operand& operand : step_at(schedule, *at).operands) {
    if (operand.kind != Operand::Kind::message) continue;
    const auto ranks = static_cast<int>(schedule.size());
    operand.peer = (operand.peer + 1) % ranks;
    if (operand.peer == static_cast<int>(at->rank)) operand.peer = (operand.peer + 1) % ranks;
    return true;
  }
  return false;
}

inline bool remove_dependency_that_nothing_implies(Random& random, Schedule& schedule) {
  std::vector<std::pair<At, StepIndex>> candidates;
  for (std::size_t rank = 0; rank < schedule.size(); ++rank)
    for (std::size_t s = 0; s < schedule[rank].steps.size(); ++s)
      for (StepIndex dependency : schedule[rank].steps[s].dependencies)
        if (!follows_anyway(schedule[rank], schedule[rank].steps[s], dependency))
          candidates.push_back({{rank, s}, dependency});
  if (candidates.empty()) return false;
  const auto& [at, dependency] = candidates[draw(random, candidates.size())];
  std::erase(step_at(schedule, at).dependencies, dependency);
  return true;
}

inline bool list_a_step_before_its_dependency(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, [](const Step& step) { return !step.dependencies.empty(); });
  if (!at) return false;
  const StepIndex late = step_at(schedule, *at).dependencies.back();
  std::swap(step_at(schedule, *at), step_at(schedule, {at->rank, static_cast<std::size_t>(late)}));
  const auto early = static_cast<StepIndex>(at->step);
  for (Step& step : schedule[at->rank].steps) { // the same graph under other numbers
    for (StepIndex& dependency : step.dependencies)
      dependency = dependency == late ? early : dependency == early ? late : dependency;
    std::sort(step.dependencies.begin(), step.dependencies.end());
  }
  return true;
}

inline bool repeat_an_operand(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, is_sum);
  auto& operands = step_at(schedule, *at).operands;
  operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(draw(random, operands.size())),
                  Operand(operands[draw(random, operands.size())]));
  return true;
}

inline Range shrunk(Random& random, Range range) {
  const sched::Unit quarter = (range.end - range.begin) / 4;
  return random() % 2 == 0 ? Range{range.begin + quarter, range.end} : Range{range.begin, range.end - quarter};
}

inline bool shrink_a_step(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, [](const Step&) { return true; });
  Step& step = step_at(schedule, *at);
  step.range = shrunk(random, step.range);
  return true;
}

inline bool shrink_a_message_at_both_ends(Random& random, Schedule& schedule) {
  const auto messages = messages_of(schedule);
  const Message message = messages[draw(random, messages.size())];
  Step& send = step_at(schedule, message.send);
  if (send.peers.size() > 1 || step_at(schedule, message.taker).kind != Kind::recv) return false;
  send.range = step_at(schedule, message.taker).range = shrunk(random, send.range);
  return true;
}

inline bool shift_a_message(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, is_send);
  Step& send = step_at(schedule, *at);
  const sched::Unit by = (send.range.end - send.range.begin) / 2;
  send.range = send.range.end + by <= sched::whole ? Range{send.range.begin + by, send.range.end + by}
                                                   : Range{send.range.begin + by, send.range.end};
  return true;
}

inline bool put_a_result_where_nobody_looks(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, is_no_send);
  step_at(schedule, *at).place = sched::scratch(schedule[at->rank].scratch_regions++);
  return true;
}

inline bool send_from_where_nothing_is(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, is_send);
  step_at(schedule, *at).place = sched::scratch(schedule[at->rank].scratch_regions++);
  return true;
}

inline bool send_output_for_input_or_the_reverse(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, is_send);
  sched::Place& place = step_at(schedule, *at).place;
  place = place == sched::input ? sched::output : sched::input;
  return true;
}

inline bool reduce_output_for_input(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, [](const Step& step) {
    return std::find(step.operands.begin(), step.operands.end(), sched::from(sched::input)) != step.operands.end();
  });
  auto& operands = step_at(schedule, *at).operands;
  *std::find(operands.begin(), operands.end(), sched::from(sched::input)) = sched::from(sched::output);
  return true;
}

inline bool write_to_input(Random& random, Schedule& schedule) {
  step_at(schedule, *draw_step(random, schedule, is_no_send)).place = sched::input;
  return true;
}

struct Mutation {
  const char* name;
  bool (*mutate)(Random&, Schedule&);
};
inline constexpr Mutation breaking[] = {
    {"drop a step", drop_step},
    {"drop a message at both ends", drop_message_at_both_ends},
    {"swap the tags of two sends", swap_tags_of_two_sends},
    {"cross two messages of one range", cross_two_messages_of_one_range_between_two_ranks},
    {"send to another peer", send_to_another_peer},
    {"take from another peer", take_from_another_peer},
    {"remove a dependency", remove_dependency_that_nothing_implies},
    {"list a step before its dependency", list_a_step_before_its_dependency},
    {"repeat an operand", repeat_an_operand},
    {"shrink a step", shrink_a_step},
    {"shrink a message at both ends", shrink_a_message_at_both_ends},
    {"shift a message", shift_a_message},
    {"put a result where nobody looks", put_a_result_where_nobody_looks},
    {"send from where nothing is", send_from_where_nothing_is},
    {"send output for input or the reverse", send_output_for_input_or_the_reverse},
    {"reduce output for input", reduce_output_for_input},
    {"write to input", write_to_input},
};

// Mutations that may leave a schedule right.

inline bool change_a_dependency(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, [](const Step&) { return true; });
  if (at->step == 0) return false;
  auto& dependencies = step_at(schedule, *at).dependencies;
  const auto drawn = static_cast<StepIndex>(draw(random, at->step));
  if (std::erase(dependencies, drawn) == 0) dependencies.push_back(drawn);
  std::sort(dependencies.begin(), dependencies.end());
  return true;
}

inline bool change_an_operand(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, is_no_send);
  auto& operands = step_at(schedule, *at).operands;
  const sched::Place places[] = {sched::input, sched::output, sched::scratch(0)};
  if (random() % 2 == 0)
    std::shuffle(operands.begin(), operands.end(), random);
  else
    operands[draw(random, operands.size())] = sched::from(places[draw(random, 3)]);
  return true;
}

inline bool change_a_place(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, [](const Step&) { return true; });
  const sched::Place places[] = {sched::input, sched::output, sched::scratch(0)};
  step_at(schedule, *at).place = places[draw(random, 3)];
  return true;
}

inline bool change_a_local_range(Random& random, Schedule& schedule) {
  const auto at =
      draw_step(random, schedule, [](const Step& step) { return is_no_send(step) && !takes_message(step); });
  if (!at) return false;
  step_at(schedule, *at).range = sched::part_of({}, 4, static_cast<int>(draw(random, 4)));
  return true;
}

inline bool swap_what_two_sends_send(Random& random, Schedule& schedule) {
  const auto at = draw_step(random, schedule, is_send);
  const auto other = draw_step(random, schedule, is_send);
  std::swap(step_at(schedule, *at).place, step_at(schedule, *other).place);
  return true;
}

inline bool swap_two_neighbours(Random& random, Schedule& schedule) {
  auto& steps = schedule[draw(random, schedule.size())].steps;
  if (steps.size() < 2) return false;
  const std::size_t at = draw(random, steps.size() - 1);
  std::swap(steps[at], steps[at + 1]);
  for (Step& step : steps) // dependencies keep their numbers, and so mean other steps
    std::erase_if(step.dependencies, [&](StepIndex dependency) { return dependency >= &step - steps.data(); });
  return true;
}

inline constexpr Mutation random_changes[] = {
    {"change a dependency", change_a_dependency},
    {"change an operand", change_an_operand},
    {"change a place", change_a_place},
    {"change a local range", change_a_local_range},
    {"swap what two sends send", swap_what_two_sends_send},
    {"swap two neighbours", swap_two_neighbours},
    {"drop a message", drop_message_at_both_ends},
};

} // namespace strata::verify::mutations
