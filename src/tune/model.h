// SPDX-License-Identifier: BSD-3-Clause
// The analytic cost model: seconds of one all-reduce, by counts of the algorithms and parameters of the links.
//
// It extends the postal model (Bar-Noy and Kipnis 1994; as used by Thakur, Rabenseifner and Gropp 2005, section 3) by
// a link that is shared by the ranks of a node, by publishing (one write for all readers of a node), and by slices: the
// levels overlap, so the first slice pays for all levels, and each further slice for the slowest one (Luo et al.,
// PLink, MLSys 2020, section 4), or for its part of a whole way where too few slices are in flight to fill it.
#pragma once

#include "hier/composition.h"
#include "topo/hierarchy.h"
#include "topo/regular.h"
#include "tune/message_times.h"
#include "tune/rates.h"

#include <array>
#include <map>
#include <utility>
#include <vector>

namespace strata::tune {

/// What a link of one kind costs. Defaults, where nothing was measured, are those of common machines.
struct LinkParameters {
  double latency = 0;          ///< seconds from a send to its arrival, of an empty message
  double per_message = 0;      ///< seconds of a rank's time for a message
  double per_byte = 0;         ///< seconds a byte takes on the link of one node (network) or one rank (memory)
  double read_per_byte = 0;    ///< seconds of a rank's time for a byte that it takes in
  double reduce_per_byte = 0;  ///< seconds of a rank's time for a byte that a reduction reads
  double per_byte_of_rank = 0; ///< between nodes: seconds a byte takes that one rank sends; 0: one rank fills the link
  double gap = 0; ///< between nodes: seconds between two messages of a node, whichever of its ranks send them
};

struct Parameters {
  std::array<LinkParameters, topo::link_kinds> links; ///< by topo::LinkKind
  double schedule_in_memory = 1; ///< work of a schedule's memory levels over that of the same bytes on the board:
                                 ///< partial results are written and read again, stage after stage
  MessageTimesByLink messages{}; ///< that were measured, for the MPI library's own
  double cache_share = 0; ///< bytes of a rank's input and result together of which caches keep nothing; of half as many
                          ///< they keep all. 0: of any size
  double beyond_cache_per_byte = 0; ///< seconds of a rank's time that a byte takes more that is not kept: the input is
                                    ///< read from memory and the result is written there, once
  double step = 0;                  ///< seconds to run one step of a schedule
  double slice = 0;                 ///< seconds to start and retire a slice
};
Parameters default_parameters();
/// Puts measured rates of cores in place of the defaults: `cache` for what goes through slots in memory, `memory` for
/// what comes from the network, and, from 'cache_share' bytes on, for vectors. What was not measured stays.
void take_rates(Parameters& parameters, const MemoryRates& cache, const MemoryRates& memory, double cache_share);

/// Likewise latencies in a node, from 8 bytes by strata's transports, what reading costs there, from what further bytes
/// take beyond writing them, and what the MPI library's own messages take. In a node, only what is no scheduler's time:
/// a profile may be of more ranks than cores, and the model adds their turns. Behind take_rates().
void take_messages(Parameters& parameters, const MessageTimesByLink& messages);

/// Likewise the gap between messages of a node; 0: there is none.
void take_gap(Parameters& parameters, double gap);
/// Between nodes an empty message takes no longer than so many seconds; and between racks that are not told apart.
void bound_latency(Parameters& parameters, double latency);

/// The shape of a job as the model sees it.
struct JobShape {
  topo::Hierarchy hierarchy;
  std::vector<std::int32_t> members; ///< by level: children of the largest group
  std::int32_t ranks_per_node = 1;   ///< of the largest node
  std::int32_t nodes = 1;
  std::int32_t ranks_per_rack = 0; ///< of the largest; 0: no racks are known
  double crossing = 0; ///< where racks are known and this shape has no level for them: the part of what a rank sends to
                       ///< other nodes that leaves its rack
  double crowding = 1; ///< ranks per usable core where that is above one, of the worst node
};
/// Of a regular hierarchy, without a list of its ranks, where each has a core of its own: what choosing needs.
JobShape shape_of(const topo::Regular& hierarchy);
/// `facts` and `usable_cores` by rank.
JobShape shape_of(const topo::Hierarchy& hierarchy, std::span<const topo::RankFacts> facts,
                  std::span<const std::uint32_t> usable_cores);

/// Lets a shape without a level for racks know them from one that has it.
void note_racks(JobShape& plain, const JobShape& with_racks);

/// What forms cost, each computed once: some count by walking over all members.
class Costs {
public:
  const coll::Cost& of(const coll::Form& form, int members);

private:
  std::map<std::pair<coll::CostFunction, int>, coll::Cost> known_;
};

/// What the model says of a composition that runs slice by slice.
struct Prediction {
  double slices = 1;
  double first = 0;   ///< seconds until the first slice is over
  double slowest = 0; ///< seconds in which the busiest of all that takes part works on one slice
  /// Of all, with so many slices in flight: no more than these are done while one is on its way.
  double seconds(std::uint64_t window) const;
};

/// Of a composition run with slices of `slice_bytes`.
Prediction predict(const JobShape& job, const hier::Composition& composition, std::size_t bytes,
                   std::size_t slice_bytes, const Parameters& parameters, Costs& costs);
/// Seconds of the latency path, for ranks of one node.
double predict_board(const JobShape& job, std::size_t bytes, const Parameters& parameters);
/// Seconds of the MPI library's own, taken for a flat algorithm: recursive doubling for small vectors, a
/// bandwidth-optimal one that does not know the nodes for large ones.
double predict_native(const JobShape& job, std::size_t bytes, const Parameters& parameters);

} // namespace strata::tune
