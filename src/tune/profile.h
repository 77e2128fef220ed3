// SPDX-License-Identifier: BSD-3-Clause
// The profile of a set of hosts: what a probe measured of the links between them, and its text (strata-profile(5)).
//
//     strata-profile 1
//     measured 2026-11-21T12:00:00Z ucx
//     host n[1-4]
//     node latency=25us bandwidth=118.6MB/s
//     rack r0 hosts=n1,n3 latency=60us uplink=59.3MB/s
//     rack r1 hosts=n2,n4 latency=60us uplink=59.3MB/s
//     slow n3 bandwidth=0.25
//     memory copy=5.2GB/s copy-all=3.9GB/s reduce=4.1GB/s reduce-all=3GB/s
//     end 7
#pragma once

#include "base/result.h"
#include "topo/hierarchy.h"

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

/// A host that is slower than the others.
struct SlowHost {
  std::string host;
  double bandwidth = 1; ///< factor of the bandwidth that the others have, above 0 and below 1
  bool operator==(const SlowHost&) const = default;
};

/// Bytes per second in memory: of one core while the others rest, and of each core while all are busy. 0: not measured.
struct MemoryRates {
  double copy = 0, copy_all = 0;     ///< bytes copied
  double reduce = 0, reduce_all = 0; ///< bytes of each operand of a sum of two
  bool operator==(const MemoryRates&) const = default;
};

struct Profile {
  std::int64_t measured = 0;      ///< seconds since the epoch
  std::string transport;          ///< that carried the messages: "ucx", "mpi"
  std::vector<std::string> hosts; ///< sorted, each once
  double latency = 0;             ///< seconds of an empty message between nodes of one group of the innermost level
  double bandwidth = 0;           ///< bytes per second each way of one node's network card
  std::vector<HostLevel> levels;  ///< innermost first; none: all nodes are alike
  std::vector<SlowHost> slow;
  MemoryRates memory;
  bool operator==(const Profile&) const = default;
};

/// Parses the text of the file named `file`. The error tells file, line, what is there and what is allowed.
Result<Profile> profile_from(std::string_view text, const std::string& file);

/// The text of a profile. What profile_from makes of it is equal to a profile that passes check().
std::string to_text(const Profile& profile);

/// Whether the text of the profile is one that profile_from takes; the error tells the line in that text.
Status check(const Profile& profile);

/// The levels of hierarchy_from(`facts`) with those of the profile between the nodes and the whole. `host_of_rank`:
/// a name per rank. A level that joins nothing, because the ranks are in one group of it or on one host of each group,
/// is left out. The error names the hosts that the profile lacks.
Result<topo::Hierarchy> hierarchy_with(const Profile& profile, std::span<const topo::RankFacts> facts,
                                       std::span<const std::string> host_of_rank);

} // namespace strata::tune
