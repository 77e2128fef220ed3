// SPDX-License-Identifier: BSD-3-Clause
// Slices and cores. All events of one time are handled before the cores choose their next steps, so that what they
// choose does not depend on the order of the events.
#include "sim/simulation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace strata::sim {

using sched::Kind;

namespace {

/// In what is counted down for a step: it has been started.
constexpr std::uint32_t runs = std::uint32_t{1} << 31;

} // namespace

Simulation::Simulation(const Machine& machine, const Workload& workload, const Load& load, std::int32_t slices)
    : machine_(machine), workload_(workload), load_(load), slices_(slices), servers_(machine),
      memory_tiers_(memory_tiers(machine)), ranks_(static_cast<std::size_t>(machine.ranks)) {
  for (std::size_t t = 0; t < machine.tiers.size(); ++t) {
    const bool first = t == 0 || t == memory_tiers_;
    latency_.push_back((first ? 0 : latency_.back()) + machine.tiers[t].link.latency);
  }
  for (const Message& one : workload.messages()) {
    std::size_t top = machine.tiers.size() - 1;
    const auto apart = [&](std::size_t tier) {
      const auto& group_of = machine.tiers[tier].group_of;
      return group_of[static_cast<std::size_t>(one.sender)] != group_of[static_cast<std::size_t>(one.receiver)];
    };
    while (top > 0 && !apart(top))
      --top;
    top_.push_back(static_cast<std::uint8_t>(top));
  }
  const std::int64_t elements = load.bytes / load.element_bytes;
  const std::int64_t slice_elements = slices == 0 ? 0 : (elements + slices - 1) / slices;
  measure(slice_elements, bytes_);
  measure(slices == 0 ? 0 : elements - (slices - 1) * slice_elements, bytes_in_last_);
  spread_beyond_cache();
  const auto steps = static_cast<std::size_t>(workload.steps());
  waiting_.resize(steps * load.window);
  open_.resize(ranks_.size() * load.window);
}

void Simulation::measure(std::int64_t elements, std::vector<std::int64_t>& bytes_of) const {
  for (Index step = 0; step < workload_.steps(); ++step) {
    const sched::Range range = workload_.step(step).range;
    bytes_of.push_back((sched::element_at(range.end, elements) - sched::element_at(range.begin, elements)) *
                       load_.element_bytes);
  }
}

/// Steps in which the core itself touches the bytes, in its node.
bool Simulation::works_in_memory(Index step) const {
  const auto messages = workload_.messages_of(step);
  return messages.empty() || std::any_of(messages.begin(), messages.end(), [&](Index one) { return in_memory(one); });
}

// Which step reads the input first, and which one writes a part of the result, is not in a program. So the time of both
// goes to all steps of a slice that work in memory, by their bytes.
void Simulation::spread_beyond_cache() {
  beyond_cache_.assign(ranks_.size(), 0);
  const double more = machine_.core.beyond_cache(static_cast<double>(load_.bytes));
  if (more == 0 || slices_ == 0) return;
  const double slice = static_cast<double>(load_.bytes) / slices_;
  for (std::int32_t rank = 0; rank < machine_.ranks; ++rank) {
    double bytes = 0;
    for (Index step = workload_.first_step(rank); step < workload_.first_step(rank + 1); ++step)
      if (works_in_memory(step)) bytes += static_cast<double>(bytes_[static_cast<std::size_t>(step)]);
    if (bytes > 0) beyond_cache_[static_cast<std::size_t>(rank)] = more * slice / bytes;
  }
}

Result<Outcome> Simulation::run() {
  for (std::int32_t rank = 0; rank < machine_.ranks; ++rank)
    touch(rank);
  settle(0);
  while (!events_.empty()) {
    const double time = events_.next().time;
    while (!events_.empty() && events_.next().time == time)
      handle(events_.pop());
    settle(time);
    if (timeline_.size() > static_cast<std::size_t>(most_activities))
      return Error{ErrorKind::resource, fmt::format("a timeline of more than {} steps is too long; take fewer ranks, "
                                                    "fewer bytes or larger slices",
                                                    most_activities)};
  }
  for (const Rank& rank : ranks_)
    if (rank.retired < slices_) return waits_for_ever();
  return outcome();
}

void Simulation::handle(const Event& event) {
  switch (event.kind) {
  case Event::Kind::step_ended:
    rank_at(event.rank).running = false;
    touch(event.rank);
    fulfil(event.rank, event.slice, event.step);
    return;
  case Event::Kind::left:
    fulfil(event.rank, event.slice, event.step);
    return;
  case Event::Kind::queues: {
    Event enters = event;
    enters.kind = Event::Kind::enters;
    const Servers::Passage turn = servers_.take_turn(event.rank, event.time);
    enters.time = turn.begin; // its first bytes are on the way while it has its turn
    enters.end = turn.end;
    events_.push(enters);
    return;
  }
  case Event::Kind::enters:
    travel(event);
    return;
  case Event::Kind::arrives: {
    const Message& arrived = message(event.message);
    Rank& receiver = rank_at(arrived.receiver);
    if (event.slice >= receiver.started)
      receiver.early.push_back({event.slice, arrived.taken_by});
    else
      fulfil(arrived.receiver, event.slice, arrived.taken_by);
    return;
  }
  }
}

void Simulation::settle(double time) {
  for (std::size_t i = 0; i < touched_.size(); ++i) // grows while slices that retire free slots of others
    retire_and_start(touched_[i], time);
  std::sort(touched_.begin(), touched_.end());
  for (const std::int32_t rank : touched_) {
    rank_at(rank).touched = false;
    run_next(rank, time);
  }
  touched_.clear();
}

void Simulation::retire_and_start(std::int32_t rank, double time) {
  Rank& self = rank_at(rank);
  const auto window = static_cast<std::int64_t>(load_.window);
  for (;;) {
    if (self.retired < self.started && open_steps(self.retired, rank) == 0) {
      retire_slice(rank);
      if (self.retired == slices_) self.finish = time;
    } else if (self.started < slices_ && self.started - self.retired < window) {
      start_slice(rank);
    } else {
      return;
    }
  }
}

// Frees the slots in which the others published this slice for this rank, for those who wait for one.
void Simulation::retire_slice(std::int32_t rank) {
  const std::int32_t slice = rank_at(rank).retired++;
  const std::int64_t freed = std::int64_t{slice} + load_.window;
  if (freed >= slices_) return;
  const auto next = static_cast<std::int32_t>(freed);
  for (Index step = workload_.first_step(rank); step < workload_.first_step(rank + 1); ++step) {
    if (workload_.step(step).kind == Kind::send || bytes_of(step, next) == 0) continue;
    for (const Index taken : workload_.messages_of(step)) {
      const Message& from = message(taken);
      if (in_memory(taken) && rank_at(from.sender).started > next) fulfil(from.sender, next, from.sent_by);
    }
  }
}

/// What a step waits for when its slice starts, but for messages that came early.
std::uint32_t Simulation::conditions_of(std::int32_t slice, Index step) const {
  const FlatStep& flat = workload_.step(step);
  std::uint32_t conditions = flat.dependencies;
  if (bytes_of(step, slice) == 0) return conditions; // both sides know that there is nothing to say
  const auto messages = workload_.messages_of(step);
  if (flat.kind != Kind::send) return conditions + static_cast<std::uint32_t>(messages.size());
  for (const Index sent : messages) {
    const Rank& reader = ranks_[static_cast<std::size_t>(message(sent).receiver)];
    if (in_memory(sent) && std::int64_t{reader.retired} + load_.window <= slice) ++conditions;
  }
  return conditions;
}

void Simulation::start_slice(std::int32_t rank) {
  Rank& self = rank_at(rank);
  const std::int32_t slice = self.started++;
  const Index first = workload_.first_step(rank), end = workload_.first_step(rank + 1);
  open_steps(slice, rank) = end - first;
  for (Index step = first; step < end; ++step)
    waiting(slice, step) = conditions_of(slice, step) + 1; // and the start itself
  std::erase_if(self.early, [&](const Early& early) {
    if (early.slice == slice) --waiting(slice, early.step);
    return early.slice == slice;
  });
  for (Index step = first; step < end; ++step)
    fulfil(rank, slice, step);
}

void Simulation::fulfil(std::int32_t rank, std::int32_t slice, Index step) {
  touch(rank);
  count_down(rank, slice, step);
  while (!instants_.empty()) { // not by recursion: there may be a long row of them
    const Index instant = instants_.back();
    instants_.pop_back();
    finish_step(rank, slice, instant);
  }
}

void Simulation::count_down(std::int32_t rank, std::int32_t slice, Index step) {
  const std::uint32_t left = --waiting(slice, step);
  if (left == runs) return finish_step(rank, slice, step);
  if (left > 0) return;
  if (bytes_of(step, slice) == 0) return instants_.push_back(step);
  auto& ready = rank_at(rank).ready;
  ready.push_back(static_cast<std::uint64_t>(slice) << 32 | static_cast<std::uint32_t>(step));
  std::push_heap(ready.begin(), ready.end(), std::greater<>());
}

void Simulation::finish_step(std::int32_t rank, std::int32_t slice, Index step) {
  --open_steps(slice, rank);
  for (const Index successor : workload_.successors(step))
    count_down(rank, slice, successor);
}

void Simulation::run_next(std::int32_t rank, double time) {
  Rank& self = rank_at(rank);
  if (self.running || self.ready.empty()) return;
  std::pop_heap(self.ready.begin(), self.ready.end(), std::greater<>());
  const auto slice = static_cast<std::int32_t>(self.ready.back() >> 32);
  const auto step = static_cast<Index>(self.ready.back() & 0xFFFFFFFF);
  self.ready.pop_back();
  self.running = true;
  waiting(slice, step) = runs + 1; // its core; a send adds its messages between nodes
  const std::int64_t bytes = bytes_of(step, slice);
  const FlatStep& flat = workload_.step(step);
  const double begin = time + machine_.core.step;
  double end = begin;
  if (flat.kind == Kind::send)
    end = run_send(rank, slice, step, bytes, begin);
  else
    end = run_with_operands(rank, step, bytes, begin);
  self.core_busy += end - time;
  Event ended;
  ended.time = end;
  ended.rank = rank;
  ended.slice = slice;
  ended.step = step;
  events_.push(ended);
  if (load_.with_timeline)
    timeline_.push_back({rank, slice, step - workload_.first_step(rank), flat.kind, bytes, time, end});
}

Error Simulation::waits_for_ever() const {
  static constexpr const char* names[] = {"send", "receive", "reduce", "copy"};
  const auto waiter =
      std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& one) { return one.retired < slices_; });
  const auto rank = static_cast<std::int32_t>(waiter - ranks_.begin());
  const std::int32_t slice = waiter->retired;
  const std::size_t slot = slot_of(slice) * static_cast<std::size_t>(workload_.steps());
  Index step = workload_.first_step(rank);
  // Steps are listed after those they depend on, so the first that waits does not wait for one of its own rank.
  for (; step < workload_.first_step(rank + 1); ++step) {
    const std::uint32_t left = waiting_[slot + static_cast<std::size_t>(step)];
    if (left > 0 && left != runs) break;
  }
  const FlatStep& flat = workload_.step(step);
  std::vector<std::int32_t> peers;
  for (const Index index : workload_.messages_of(step))
    peers.push_back(flat.kind == Kind::send ? message(index).receiver : message(index).sender);
  return {ErrorKind::peer,
          fmt::format("deadlock: rank {}, step {} ({}) waits for ever in slice {} of {}, {} {} {}", rank,
                      step - workload_.first_step(rank), names[static_cast<std::size_t>(flat.kind)], slice, slices_,
                      flat.kind == Kind::send ? "to be read by" : "for messages of",
                      peers.size() == 1 ? "rank" : "one or more of ranks", fmt::join(peers, ", "))};
}

Outcome Simulation::outcome() {
  Outcome outcome;
  outcome.slices = slices_;
  for (const Rank& rank : ranks_) {
    outcome.finish.push_back(rank.finish);
    outcome.core_busy.push_back(rank.core_busy);
  }
  outcome.seconds = *std::max_element(outcome.finish.begin(), outcome.finish.end());
  outcome.level_bytes = std::move(level_bytes_);
  for (std::size_t server = 0; server < servers_.count(); ++server)
    if (servers_.bytes(server) > 0)
      outcome.uses.push_back({servers_.place_of(server), servers_.bytes(server), servers_.busy(server)});
  outcome.timeline = std::move(timeline_);
  return outcome;
}

} // namespace strata::sim
