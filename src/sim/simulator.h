// SPDX-License-Identifier: BSD-3-Clause
// A discrete-event simulator of schedules: the same programs that the engine runs, over a machine made of numbers.
//
// A rank is one core, which runs one step at a time to its end: of those that are ready, one of the oldest slice, the
// first in the program. A vector runs in slices; `window` of them are in flight on a rank, and a rank starts the next
// when its oldest is finished. What a step costs its core, for b bytes (b = 0: nothing at all):
//
//   any       Core::step
//   copy      b * copy_per_byte
//   send      in memory: per_message + b * copy_per_byte, once for all readers; between nodes: per_message each
//   recv      b * read_per_byte of the outermost tier that the message crosses
//   reduce    per message: the same, and b * reduce_per_byte of that tier; per operand of its own: b * reduce_per_byte
//
// In memory a message is there `latency` after it was written. A reader takes it in place, over the uplinks between the
// two if they are limited. Where a rank's vectors are larger than its core's caches, steps that work in memory take the
// longer for it, all together by what one copy of the slice in memory takes more. As in the engine, a slot is written
// again for slice n + window only when all its readers have finished slice n. What a core reads and writes also passes
// the memory of its node; the core waits for it.
//
// Between nodes a message goes up through the uplinks of the sender's groups and down through those of the receiver's.
// Each direction of each is a queue, first come first served. A message is not stored on its way: it enters the next
// queue as soon as it begins in one, so that without contention it takes the time of the slowest, and the latencies:
//
//     node 0 up      |==a==|==b==|                  a to node 1, b to node 2, from two ranks of node 0;
//     rack 0 up       |==a==|==b==|                 c comes from another node of rack 0, for node 3
//                                |==c==|
//     node 1 down        :latency:|==a==|
//
// A node may send its messages no faster than one in a gap, whatever their size: where cores are shared, or a card has
// a pace of its own, messages of all ranks hinder each other. Also one that is alone takes that long to leave, since a
// rank whose core is shared waits for its turn; a long one is on its uplink meanwhile, so that the longer of both
// counts.
//
// A send is complete when its last message has left its node (see what schedule.h says of buffering). The result is the
// same in every run: events of one time are ordered by rank, slice and step.
//
// After LogGOPSim (Hoefler, Schneider and Lumsdaine, LSAP 2010), whose network cards are servers with a gap per byte;
// here each shared link is one. Packets, routes and congestion control are left out.
#pragma once

#include "sim/machine.h"
#include "sim/servers.h"
#include "sim/workload.h"

#include <vector>

namespace strata::sim {

/// What is run.
struct Load {
  std::int64_t bytes = 0;         ///< of the vector; a multiple of element_bytes
  std::int64_t slice_bytes = 0;   ///< at most; at least one element is in a slice
  std::uint32_t window = 1;       ///< slices in flight
  std::int64_t element_bytes = 1; ///< what is not cut
  bool with_timeline = false;
};

/// What a core did from `begin` to `end`, in seconds.
struct Activity {
  std::int32_t rank = 0;
  std::int32_t slice = 0;
  sched::StepIndex step = 0; ///< in the rank's program
  sched::Kind kind = sched::Kind::copy;
  std::int64_t bytes = 0;
  double begin = 0, end = 0;
};

/// How an uplink or memory was used.
struct Use {
  Place place;
  std::int64_t bytes = 0;
  double busy = 0; ///< seconds; 0 where there is no limit
};

struct Outcome {
  double seconds = 0; ///< until the last rank has finished
  std::int32_t slices = 0;
  std::vector<double> finish;            ///< by rank, seconds
  std::vector<double> core_busy;         ///< by rank, seconds
  std::vector<std::int64_t> level_bytes; ///< sent, by level of the schedule; once per receiver, as the engine counts
  std::vector<Use> uses;                 ///< what at least one byte has passed: tiers outwards, groups, up before down
  std::vector<Activity> timeline;        ///< in the order of `begin`; only if asked for

  /// The use that was busy longest, the first of equals; null if none has a limit.
  const Use* busiest() const;
};

/// Most steps, over all slices, that are simulated; and most that a timeline holds.
inline constexpr std::int64_t most_step_runs = 1000000000;
inline constexpr std::int64_t most_activities = 2000000;

/// \return an Error if `load` makes no sense, if it is too large, or if a rank waits for ever (the error names the
/// lowest such rank, and its step).
Result<Outcome> simulate(const Machine& machine, const Workload& workload, const Load& load);

} // namespace strata::sim
