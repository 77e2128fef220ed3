// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace strata::sim {
namespace {

constexpr std::size_t most_entries = std::size_t{1} << 27;

Error refusal(std::string message) { return {ErrorKind::argument, std::move(message)}; }

std::uint32_t packed(sched::Tag tag) {
  return static_cast<std::uint32_t>(tag.level) << 24 | static_cast<std::uint32_t>(tag.phase) << 16 | tag.round;
}

sched::Tag unpacked(std::uint32_t tag) {
  return {static_cast<std::uint8_t>(tag >> 24), static_cast<std::uint8_t>(tag >> 16), static_cast<std::uint16_t>(tag)};
}

} // namespace

Result<Workload> Workload::from(std::int32_t ranks, const std::function<sched::Program(std::int32_t)>& program_of) {
  Workload workload;
  std::vector<End> sends, takes;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const sched::Program program = program_of(rank);
    if (program.rank != rank || program.ranks != ranks)
      return refusal(fmt::format("the program of rank {} of {} says that it is of rank {} of {}", rank, ranks,
                                 program.rank, program.ranks));
    workload.first_steps_.push_back(static_cast<Index>(workload.steps_.size()));
    if (Status appended = workload.append(program, sends, takes); !appended) return appended.error();
  }
  workload.first_steps_.push_back(static_cast<Index>(workload.steps_.size()));
  FlatStep end;
  end.first_successor = static_cast<Index>(workload.successors_.size());
  end.first_message = static_cast<Index>(workload.messages_of_steps_.size());
  workload.steps_.push_back(end);
  if (Status matched = workload.match(sends, takes); !matched) return matched.error();
  return workload;
}

Status Workload::append(const sched::Program& program, std::vector<End>& sends, std::vector<End>& takes) {
  for (std::size_t s = 0; s < program.steps.size(); ++s)
    if (Status appended = append_step(program, s, sends, takes); !appended) return appended;
  append_successors(program);
  if (std::max({steps_.size(), messages_of_steps_.size(), successors_.size()}) > most_entries)
    return Error{ErrorKind::resource,
                 fmt::format("the programs of ranks 0 to {} have {} steps and {} ends of messages "
                             "already; {} of each at most can be simulated",
                             program.rank, steps_.size(), messages_of_steps_.size(), most_entries)};
  return ok();
}

Status Workload::append_step(const sched::Program& program, std::size_t index, std::vector<End>& sends,
                             std::vector<End>& takes) {
  const sched::Step& step = program.steps[index];
  const auto refused = [&](const std::string& why) {
    return refusal(fmt::format("rank {}, step {}: {}", program.rank, index, why));
  };
  if (step.range.begin < 0 || step.range.end > sched::whole || step.range.begin > step.range.end)
    return refused(fmt::format("{} is no range of a slice", sched::to_text(step.range)));
  for (const sched::StepIndex earlier : step.dependencies)
    if (earlier < 0 || static_cast<std::size_t>(earlier) >= index)
      return refused(fmt::format("it waits for ever, for step {}, which is not before it", earlier));
  const auto global = static_cast<Index>(steps_.size());
  FlatStep flat;
  flat.kind = step.kind;
  flat.level = step.tag.level;
  flat.dependencies = static_cast<std::uint32_t>(step.dependencies.size());
  flat.range = step.range;
  flat.first_message = static_cast<Index>(messages_of_steps_.size());
  const auto add = [&](std::vector<End>& ends, std::int32_t sender, std::int32_t receiver, sched::Tag tag) {
    ends.push_back(
        {sender, receiver, packed(tag), step.range.begin, global, static_cast<Index>(messages_of_steps_.size())});
    messages_of_steps_.push_back(-1);
  };
  const auto is_peer = [&](std::int32_t rank) { return rank >= 0 && rank < program.ranks && rank != program.rank; };
  for (const std::int32_t peer : step.peers) {
    if (!is_peer(peer)) return refused(fmt::format("it sends to rank {}, which is no other rank", peer));
    add(sends, program.rank, peer, step.tag);
  }
  for (const sched::Operand& operand : step.operands) {
    if (operand.kind == sched::Operand::Kind::local) {
      ++flat.local_operands;
      continue;
    }
    if (!is_peer(operand.peer))
      return refused(fmt::format("it takes from rank {}, which is no other rank", operand.peer));
    add(takes, operand.peer, program.rank, operand.tag);
  }
  steps_.push_back(flat);
  return ok();
}

// The lists of dependencies turned around, once all steps of the program are known.
void Workload::append_successors(const sched::Program& program) {
  const auto first = static_cast<std::size_t>(first_steps_.back());
  std::vector<Index> next(program.steps.size() + 1, 0);
  for (const sched::Step& step : program.steps)
    for (const sched::StepIndex earlier : step.dependencies)
      ++next[static_cast<std::size_t>(earlier) + 1];
  next[0] = static_cast<Index>(successors_.size());
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    steps_[first + s].first_successor = next[s];
    next[s + 1] += next[s];
  }
  successors_.resize(static_cast<std::size_t>(next.back()));
  for (std::size_t s = 0; s < program.steps.size(); ++s)
    for (const sched::StepIndex earlier : program.steps[s].dependencies)
      successors_[static_cast<std::size_t>(next[static_cast<std::size_t>(earlier)]++)] = static_cast<Index>(first + s);
}

std::string Workload::name_of(std::int32_t rank, Index step) const {
  return fmt::format("rank {}, step {}", rank, step - first_step(rank));
}

Status Workload::match(std::vector<End>& sends, std::vector<End>& takes) {
  const auto before = [](const End& a, const End& b) { return a.key() < b.key(); };
  const auto in_order = [](const End& a, const End& b) {
    return std::pair(a.key(), a.step) < std::pair(b.key(), b.step);
  };
  std::sort(sends.begin(), sends.end(), in_order);
  std::sort(takes.begin(), takes.end(), in_order);
  messages_.reserve(sends.size());
  for (std::size_t i = 0; i < std::max(sends.size(), takes.size()); ++i) {
    const bool only_send = i >= takes.size() || (i < sends.size() && before(sends[i], takes[i]));
    const bool only_take = !only_send && (i >= sends.size() || before(takes[i], sends[i]));
    const End& end = only_take ? takes[i] : sends[i];
    if (!only_take && i > 0 && sends[i - 1].key() == end.key())
      return refusal(fmt::format("{}: sends a second message {} to rank {} that begins where step {}'s does",
                                 name_of(end.sender, end.step), sched::to_text(unpacked(end.tag)), end.receiver,
                                 sends[i - 1].step - first_step(end.sender)));
    const std::string which = only_send || only_take ? sched::to_text(unpacked(end.tag)) : std::string();
    if (only_send)
      return refusal(fmt::format("{}: rank {} takes no message {} that begins here, or another has the same name",
                                 name_of(end.sender, end.step), end.receiver, which));
    if (only_take)
      return refusal(fmt::format("{}: waits for ever: rank {} sends no message {} that begins here, or once only",
                                 name_of(end.receiver, end.step), end.sender, which));
    if (steps_[static_cast<std::size_t>(takes[i].step)].range != steps_[static_cast<std::size_t>(end.step)].range)
      return refusal(
          fmt::format("{}: takes another range than rank {} sends", name_of(end.receiver, takes[i].step), end.sender));
    const auto number = static_cast<Index>(messages_.size());
    messages_.push_back({end.sender, end.receiver, end.step, takes[i].step});
    messages_of_steps_[static_cast<std::size_t>(end.place)] = number;
    messages_of_steps_[static_cast<std::size_t>(takes[i].place)] = number;
  }
  return ok();
}

} // namespace strata::sim
