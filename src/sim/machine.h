// SPDX-License-Identifier: BSD-3-Clause
// A machine as the simulator sees it: ranks in a tree of groups, and numbers for what joins the groups.
//
// A tier is a partition of the ranks; its groups lie inside the groups of the next tier outwards. Each group has an
// uplink, over which everything goes that enters or leaves it:
//
//     tier 2, rack      ( node  node )===uplink===( node  node )      crossed between racks
//     tier 1, node      ( core core )---uplink---( core core )        crossed between nodes
//     tier 0, core      one rank each; "uplink" is its way to the memory that the cores share
//
// A message crosses the tiers in which sender and receiver are in different groups. Inside a node these are memory
// tiers: the sender writes once, and the readers read it there. Beyond, they are network tiers.
#pragma once

#include "base/result.h"
#include "topo/hierarchy.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata::sim {

/// What it costs to cross a tier. The last three count for the outermost tier that a message crosses.
struct Link {
  double latency = 0;         ///< seconds; those of all tiers of the message's medium that it crosses add up
  double per_byte = 0;        ///< seconds a byte takes on the uplink of one group, each way; 0: no limit
  double per_message = 0;     ///< seconds of the sender's core per message; in memory, one for all readers
  double read_per_byte = 0;   ///< seconds of the receiver's core for a byte that it takes in
  double reduce_per_byte = 0; ///< seconds of a core for a byte of an operand of a reduction, on top of taking it in
};

/// Of a rank's input and result, of `bytes` each, the part that caches of `cache_bytes` for it do not keep: nothing up
/// to half of them, all from the whole on; 0: they keep everything.
inline double part_beyond_cache(double bytes, double cache_bytes) {
  constexpr double buffers = 2;
  return cache_bytes <= 0 ? 0 : std::clamp(2 * buffers * bytes / cache_bytes - 1, 0.0, 1.0);
}

/// What a core does by itself.
struct Core {
  double copy_per_byte = 0;   ///< seconds to write a byte where others can read it, or to copy it
  double reduce_per_byte = 0; ///< seconds for a byte of an operand of its own
  double step = 0;            ///< seconds to run any step
  double cache_bytes = 0;     ///< of a rank's input and result together of which caches keep nothing; 0: of any size
  double beyond_per_byte = 0; ///< seconds to copy a byte of larger ones; 0: as copy_per_byte

  /// Seconds that a byte of a vector of `bytes` takes more because no cache keeps it: it is read from memory once, and
  /// written there once.
  double beyond_cache(double bytes) const {
    return part_beyond_cache(bytes, cache_bytes) * std::max(0.0, beyond_per_byte - copy_per_byte);
  }
};

enum class Medium : std::uint8_t { memory, network };

/// A partition of the ranks, and what joins its groups. Groups are numbered by their lowest rank.
struct Tier {
  std::string name;
  Medium medium = Medium::network;
  Link link;
  std::vector<std::int32_t> group_of; ///< by rank
  std::int32_t groups = 0;
};

/// Tiers from the innermost (0, single ranks) outwards; memory tiers first.
struct Machine {
  std::int32_t ranks = 1;
  std::vector<Tier> tiers;
  Core core;
  double memory_per_byte =
      0;                    ///< seconds that the memory of a node needs for a byte that a core reads or writes; 0: none
  double rank_per_byte = 0; ///< seconds a byte takes that one rank sends, or receives, between nodes; 0: no limit
  double gap = 0; ///< seconds that a message of a node, of any size, has its turn, which they have one after another
};

inline constexpr std::int64_t most_ranks = 1000000;

/// One level of a machine line, with the numbers of the uplink of one of its groups.
struct LineLevel {
  std::string name;
  Medium medium = Medium::network;
  std::int64_t count = 1; ///< in each group of the level before
  Link link;
};

/// What a machine line says, its defaults filled in.
struct MachineLine {
  /// How many places a node has; all of them without nodes.
  std::int64_t places_of_node() const;

  std::vector<LineLevel> levels; ///< outermost first
  std::int64_t ranks = 1;        ///< the first so many of all places are used, by the mapping
  Core core;
  double memory_per_byte = 0;
  double rank_per_byte = 0;
  double gap = 0;
};

/// Parses a machine line, outermost level first, such as
///   rack:2(uplink=6.25GB/s, latency=2us) node:4(uplink=100Gbit/s, latency=5us) socket:2 core:8 ranks=120
///
/// LEVEL:COUNT is how many groups of that level are in each group of the level before. Levels are pod, rack, node,
/// socket, numa, cache and core; any may be left out, but a pod or rack holds nodes, and without `node` all are on one.
/// In parentheses stand the numbers of the uplink of one group; each is optional:
///   latency=TIME   of crossing it
///   uplink=RATE    of one group, each way                          pod, rack: unlimited; node: 1.25GB/s
///   message=TIME   of the sender's core, per message               as further in; node: 2us; core: 0.03us
///   read=RATE      at which a core takes in what came over it      as further in; node: 10GB/s; core: 15.4GB/s
///   reduce=RATE    at which a core reduces what came over it       as further in; node: 20GB/s; core: 100GB/s
///   copy=RATE      core only: at which a core writes and copies    33.3GB/s
///   step=TIME      core only: to run any step                      0.02us
///   cache=BYTES    core only: of its caches; a rank's input and result that are as large together are not kept there,
///                  and half as many are                            unlimited
///   beyond=RATE    core only: at which it copies what is not kept  as copy
///   memory=RATE    node only: of what all its cores read and write unlimited
///   rank=RATE      node only: of what one rank alone sends, and receives, over the uplink; unlimited
///   gap=TIME       node only: of each message of all its ranks in turn, while its bytes may have the uplink; 0s
/// TIME is a number and s, ms, us or ns, up to 10s. RATE is a number and B/s or bit/s, with k, M, G or T (1000) or Ki,
/// Mi, Gi or Ti (1024) before it, 1kB/s to 1000TB/s; or `unlimited`. BYTES have an optional K, M or G (1024).
/// `ranks=N` uses only N of the places.
/// \return an Error with the column and what is allowed there.
Result<MachineLine> machine_line_from(std::string_view text);

/// Numbers inside a node for those that a line does not say, where something was measured.
struct LineDefaults {
  Link memory;              ///< of a core; its latency too
  double latency_more = -1; ///< seconds from the outermost level of a node to the core's latency; negative: as always
  Link network;             ///< of a node, but for latency and rate
  Core core;
};
/// Those of the table above.
LineDefaults line_defaults();
Result<MachineLine> machine_line_from(std::string_view text, const LineDefaults& defaults);

/// Which rank is at which place.
struct Mapping {
  enum class Kind : std::uint8_t {
    slot,  ///< places in order: a node is filled before the next
    node,  ///< one rank to each node in turn
    random ///< by chance, the same for the same seed
  } kind = Kind::slot;
  std::uint64_t seed = 0;
};

/// "slot", "node" or "random:SEED".
Result<Mapping> mapping_from(std::string_view text);

/// The place of each rank. Places are numbered from the first of the innermost group of the first node on.
std::vector<std::int64_t> places_of(const MachineLine& line, const Mapping& mapping);

/// The machine of a line. `line` is as machine_line_from gives it; `ranks` may be lowered.
Machine machine_from(const MachineLine& line, const Mapping& mapping);

/// The levels that strata would see: those of `machine` that join something.
topo::Hierarchy hierarchy_of(const Machine& machine);

/// How many tiers are of memory.
std::size_t memory_tiers(const Machine& machine);
/// By rank, the node: ranks that share memory have the same number.
std::vector<std::int32_t> nodes_of(const Machine& machine);
/// By rank, what it knows of its place: its node.
std::vector<topo::RankFacts> facts_of(const Machine& machine);

/// Seconds that no all-reduce of so many bytes can undercut: of the G groups of a network tier, one at least must take
/// in 2(G-1)/G of the vector over its uplink (Patarasuk and Yuan, JPDC 69(2), 2009). 0: no uplink has a
/// limit.
double bound_of(const Machine& machine, std::int64_t bytes);

} // namespace strata::sim
