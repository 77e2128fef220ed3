// SPDX-License-Identifier: BSD-3-Clause
// The profile of a set of hosts: what a probe measured of the links between them, and its text (strata-profile(5)).
//
//     strata-profile 1
//     measured 2026-11-21T12:00:00Z ucx
//     host n[1-4]
//     node latency=25us bandwidth=118.6MB/s rank=61MB/s gap=3us senders=8
//     rack r0 hosts=n1,n3 latency=60us uplink=59.3MB/s
//     rack r1 hosts=n2,n4 latency=60us uplink=59.3MB/s
//     slow n3 bandwidth=0.25
//     asymmetric n1 n4 bandwidth=0.4
//     cache share=16384K copy=42GB/s copy-all=35GB/s
//     memory copy=5.2GB/s copy-all=3.9GB/s reduce=4.1GB/s reduce-all=3GB/s
//     messages network strata 8B=25us 512B=27us 4KiB=60us 32KiB=310us
//     end 10
#pragma once

#include "base/result.h"
#include "topo/hierarchy.h"
#include "tune/message_times.h"
#include "tune/rates.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace strata::tune {

/// Hosts behind one uplink. What was measured of it counts for messages that leave the group; a 0 stands for a number
/// that was not measured.
struct HostGroup {
  std::string name;
  std::vector<std::string> hosts; ///< sorted
  double latency = 0;             ///< seconds; 0: as inside the group
  double bandwidth = 0;           ///< bytes per second of one node alone through the uplink; 0: as inside the group
  double uplink = 0;              ///< bytes per second of all nodes together; 0: it was not seen to be shared
  bool operator==(const HostGroup&) const = default;
};

/// A partition of all hosts.
struct HostLevel {
  std::string name; ///< "rack", or around racks "island"
  std::vector<HostGroup> groups;
  bool operator==(const HostLevel&) const = default;
};

/// A host that is slower than the others, in one way at least. Factors of what the others have; 1: not slower in this.
struct SlowHost {
  std::string host;
  double bandwidth = 1; ///< of its network card, both ways
  double sends = 1;     ///< of its card, outwards only
  double receives = 1;  ///< of its card, inwards only
  double latency = 1;   ///< of its messages, above 1
  double cores = 1;     ///< of what its cores copy and reduce
  bool operator==(const SlowHost&) const = default;
};

/// Two hosts between which one way carries less, though their cards carry more.
struct AsymmetricHosts {
  std::string from, to; ///< the slow way
  double bandwidth = 1; ///< factor of the other way's
  bool operator==(const AsymmetricHosts&) const = default;
};

struct Profile {
  std::int64_t measured = 0;      ///< seconds since the epoch
  std::string transport;          ///< that carried the messages: "ucx", "mpi"
  std::vector<std::string> hosts; ///< sorted, each once
  double latency = 0;             ///< seconds of an empty message between nodes of one group of the innermost level
  double bandwidth = 0;           ///< bytes per second each way of one node
  double bandwidth_of_rank = 0;   ///< the same of one of its ranks alone, where it takes several to fill that; else 0
  double gap = 0;                 ///< seconds between two short messages of a node when all its ranks send; 0: none
  std::int32_t gap_senders = 0;   ///< how many ranks of a node sent then; of fewer, it may be less
  std::vector<HostLevel> levels;  ///< innermost first; none: all nodes are alike
  std::vector<SlowHost> slow;
  std::vector<AsymmetricHosts> asymmetric;
  MemoryRates cache;             ///< of buffers that a core's cache keeps
  MemoryRates memory;            ///< of buffers that none keeps
  std::uint64_t cache_share = 0; ///< bytes of the last-level cache for each core that is busy; 0: unknown
  MessageTimesByLink messages{};
  bool operator==(const Profile&) const = default;
};

/// Of its text: the most hosts, each by its long name.
inline constexpr std::size_t most_profile_bytes = std::size_t{64} << 20;

/// Parses the text of the file named `file`. The error tells file, line, what is there and what is allowed.
Result<Profile> profile_from(std::string_view text, const std::string& file);

/// The text of a profile. What profile_from makes of it is equal to a profile that passes check().
std::string to_text(const Profile& profile);

/// Whether it has times of messages between nodes, which are measured after everything else that every probe measures.
bool tells_of_messages(const Profile& profile);

/// Whether the text of the profile is one that profile_from takes; the error tells the line in that text.
Status check(const Profile& profile);

/// What a profile says of these of its hosts (sorted, each once). Groups that have none of them are left out, and so is
/// a level of which one group is left: the link beyond it is not theirs to use.
Profile narrowed_to(const Profile& profile, std::span<const std::string> hosts);

/// The levels of hierarchy_from(`facts`) with those of the profile between the nodes and the whole. `host_of_rank`:
/// a name per rank. A level that joins nothing, because the ranks are in one group of it or on one host of each group,
/// is left out. The error names the hosts that the profile lacks.
Result<topo::Hierarchy> hierarchy_with(const Profile& profile, std::span<const topo::RankFacts> facts,
                                       std::span<const std::string> host_of_rank);

} // namespace strata::tune
