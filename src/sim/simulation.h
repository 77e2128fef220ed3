// SPDX-License-Identifier: BSD-3-Clause
// One run of the simulator: its state, in flat arrays, and what events do to it. For simulator.cc.
#pragma once

#include "sim/event_queue.h"
#include "sim/simulator.h"

namespace strata::sim {

class Simulation {
public:
  /// `load` has been checked; the three outlive the simulation.
  Simulation(const Machine& machine, const Workload& workload, const Load& load, std::int32_t slices);

  /// Until nothing more happens.
  Result<Outcome> run();

private:
  /// A message that came before its receiver had started the slice.
  struct Early {
    std::int32_t slice;
    Index step;
  };
  struct Rank {
    std::int32_t started = 0; ///< slices
    std::int32_t retired = 0; ///< of these, in order
    bool running = false;
    bool touched = false;
    double finish = 0;
    double core_busy = 0;
    std::vector<std::uint64_t> ready; ///< heap of slice and step, the oldest first
    std::vector<Early> early;
  };

  // simulation.cc: slices and cores
  void measure(std::int64_t elements, std::vector<std::int64_t>& bytes_of) const;
  void spread_beyond_cache();
  bool works_in_memory(Index step) const;
  void handle(const Event& event);
  void settle(double time);
  void retire_and_start(std::int32_t rank, double time);
  void retire_slice(std::int32_t rank);
  void start_slice(std::int32_t rank);
  std::uint32_t conditions_of(std::int32_t slice, Index step) const;
  /// One condition less for a step, and all that follows without any time passing.
  void fulfil(std::int32_t rank, std::int32_t slice, Index step);
  void count_down(std::int32_t rank, std::int32_t slice, Index step);
  void finish_step(std::int32_t rank, std::int32_t slice, Index step);
  void run_next(std::int32_t rank, double time);
  Error waits_for_ever() const;
  Outcome outcome();

  // simulation_messages.cc: what steps cost and how messages travel. Each returns when the core is free again.
  double run_with_operands(std::int32_t rank, Index step, std::int64_t bytes, double time);
  double run_send(std::int32_t rank, std::int32_t slice, Index step, std::int64_t bytes, double time);
  double publish(std::int32_t rank, std::int32_t slice, Index step, std::int64_t bytes, double time);
  double read_in_place(Index message, std::int64_t bytes, double time);
  void travel(const Event& event);
  std::size_t stages_of_a_way(Index message) const; ///< of half of it
  std::size_t server_of(Index message, std::size_t stage) const;

  bool in_memory(Index message) const { return top_[static_cast<std::size_t>(message)] < memory_tiers_; }
  std::size_t top_of(Index message) const { return top_[static_cast<std::size_t>(message)]; }
  double latency_of(Index message) const { return latency_[top_of(message)]; }
  const Link& link_of(Index message) const { return machine_.tiers[top_of(message)].link; }
  const Message& message(Index index) const { return workload_.messages()[static_cast<std::size_t>(index)]; }
  Rank& rank_at(std::int32_t rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  std::int64_t bytes_of(Index step, std::int32_t slice) const {
    return (slice + 1 == slices_ ? bytes_in_last_ : bytes_)[static_cast<std::size_t>(step)];
  }
  std::size_t slot_of(std::int32_t slice) const { return static_cast<std::uint32_t>(slice) % load_.window; }
  /// Conditions that a step of a slice in flight still waits for; while it runs, its parts that have not ended.
  std::uint32_t& waiting(std::int32_t slice, Index step) {
    return waiting_[slot_of(slice) * static_cast<std::size_t>(workload_.steps()) + static_cast<std::size_t>(step)];
  }
  std::int32_t& open_steps(std::int32_t slice, std::int32_t rank) {
    return open_[slot_of(slice) * ranks_.size() + static_cast<std::size_t>(rank)];
  }
  void touch(std::int32_t rank) {
    if (!rank_at(rank).touched) touched_.push_back(rank);
    rank_at(rank).touched = true;
  }

  const Machine& machine_;
  const Workload& workload_;
  const Load load_;
  const std::int32_t slices_;
  Servers servers_;
  EventQueue events_;
  std::size_t memory_tiers_;
  std::vector<double> latency_;     ///< by outermost tier crossed, in its medium
  std::vector<std::uint8_t> top_;   ///< by message: outermost tier that it crosses
  std::vector<std::int64_t> bytes_; ///< by step, in all slices but the last
  std::vector<std::int64_t> bytes_in_last_;
  std::vector<double> beyond_cache_; ///< by rank: seconds more for each byte of a step that works in memory
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> waiting_; ///< by slot of the window and step
  std::vector<std::int32_t> open_;     ///< by slot and rank: steps that are not complete
  std::vector<std::int32_t> touched_;  ///< ranks to which something has happened at this time
  std::vector<Index> instants_;        ///< ready steps of a slice that have no bytes
  std::vector<std::int64_t> level_bytes_;
  std::vector<Activity> timeline_;
};

} // namespace strata::sim
