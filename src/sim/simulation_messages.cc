// SPDX-License-Identifier: BSD-3-Clause
// What steps cost their core, and how messages travel.
#include "sim/simulation.h"

#include <algorithm>

namespace strata::sim {

using sched::Kind;

// Receive, reduce and copy: all that read operands and write one range.
double Simulation::run_with_operands(std::int32_t rank, Index step, std::int64_t bytes, double time) {
  const FlatStep& flat = workload_.step(step);
  const auto size = static_cast<double>(bytes);
  const auto messages = workload_.messages_of(step);
  const bool reduces = flat.kind == Kind::reduce;
  double work = flat.local_operands * size * (reduces ? machine_.core.reduce_per_byte : machine_.core.copy_per_byte);
  if (works_in_memory(step)) work += size * beyond_cache_[static_cast<std::size_t>(rank)];
  double end = time;
  for (const Index taken : messages) {
    const Link& link = link_of(taken);
    work += size * (link.read_per_byte + (reduces ? link.reduce_per_byte : 0));
    if (in_memory(taken)) end = std::max(end, read_in_place(taken, bytes, time));
  }
  const auto passed = static_cast<std::int64_t>(flat.local_operands + messages.size() + 1) * bytes;
  return std::max({end, time + work, servers_.pass(servers_.memory(rank), time, passed).end});
}

// The reader's loads cross the uplinks between the two groups.
double Simulation::read_in_place(Index message, std::int64_t bytes, double time) {
  const Message& read = this->message(message);
  double end = time;
  for (std::size_t tier = 0; tier <= top_of(message); ++tier) {
    end = std::max(end, servers_.pass(servers_.up(tier, read.sender), time, bytes).end);
    end = std::max(end, servers_.pass(servers_.down(tier, read.receiver), time, bytes).end);
  }
  return end;
}

double Simulation::run_send(std::int32_t rank, std::int32_t slice, Index step, std::int64_t bytes, double time) {
  const auto messages = workload_.messages_of(step);
  const std::size_t level = workload_.step(step).level;
  if (level_bytes_.size() <= level) level_bytes_.resize(level + 1);
  level_bytes_[level] += bytes * static_cast<std::int64_t>(messages.size());
  if (std::any_of(messages.begin(), messages.end(), [&](Index sent) { return in_memory(sent); }))
    time = publish(rank, slice, step, bytes, time);
  for (const Index sent : messages) {
    if (in_memory(sent)) continue;
    time += link_of(sent).per_message;
    ++waiting(slice, step); // until it has left
    const auto next = machine_.gap > 0 ? Event::Kind::queues : Event::Kind::enters;
    events_.push({time, rank, slice, step, sent, next, 0, time});
  }
  return time;
}

// One copy for all readers.
double Simulation::publish(std::int32_t rank, std::int32_t slice, Index step, std::int64_t bytes, double time) {
  const auto messages = workload_.messages_of(step);
  double per_message = 0;
  for (const Index sent : messages)
    if (in_memory(sent)) per_message = std::max(per_message, link_of(sent).per_message);
  const double per_byte = machine_.core.copy_per_byte + beyond_cache_[static_cast<std::size_t>(rank)];
  const double copied = time + per_message + static_cast<double>(bytes) * per_byte;
  const double end = std::max(copied, servers_.pass(servers_.memory(rank), time, 2 * bytes).end);
  for (const Index sent : messages)
    if (in_memory(sent)) events_.push({end + latency_of(sent), rank, slice, step, sent, Event::Kind::arrives, 0, 0});
  return end;
}

// The way of a message between nodes: out of the sender, up through its groups, down through the receiver's, into it.
std::size_t Simulation::stages_of_a_way(Index message) const {
  return top_of(message) - memory_tiers_ + 1 + (servers_.limits_ranks() ? 1 : 0);
}

std::size_t Simulation::server_of(Index message, std::size_t stage) const {
  const Message& sent = this->message(message);
  const std::size_t way = stages_of_a_way(message), of_rank = servers_.limits_ranks() ? 1 : 0;
  if (stage < of_rank) return servers_.out(sent.sender);
  if (stage < way) return servers_.up(memory_tiers_ + stage - of_rank, sent.sender);
  if (stage < 2 * way - of_rank) return servers_.down(top_of(message) - (stage - way), sent.receiver);
  return servers_.in(sent.receiver);
}

// One limited link, and the unlimited ones before it.
void Simulation::travel(const Event& event) {
  Event next = event;
  const std::size_t way = stages_of_a_way(event.message);
  const std::size_t card = servers_.limits_ranks() ? 1 : 0; // the stage behind which the sender is through with it
  const std::int64_t bytes = bytes_of(event.step, event.slice);
  while (next.stage < 2 * way) {
    const std::size_t server = server_of(event.message, next.stage);
    const bool limited = servers_.is_limited(server);
    if (limited && next.time > event.time) return events_.push(next); // its turn comes later
    const Servers::Passage passage = servers_.pass(server, next.time, bytes);
    next.time = passage.begin;
    next.end = std::max(next.end, passage.end);
    if (next.stage == card) {
      Event left = event;
      left.kind = Event::Kind::left;
      left.time = next.end;
      events_.push(left);
    }
    if (++next.stage == way) { // across
      next.time += latency_of(event.message);
      next.end += latency_of(event.message);
    }
    if (limited && next.stage < 2 * way) return events_.push(next);
  }
  next.kind = Event::Kind::arrives;
  next.time = next.end;
  events_.push(next);
}

} // namespace strata::sim
