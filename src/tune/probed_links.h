// SPDX-License-Identifier: BSD-3-Clause
// What a probe found, as a profile and in words.
#pragma once

#include "tune/probe.h"
#include "tune/profile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace strata::tune {

/// What the nodes of a probe are called.
struct NodeNames {
  std::vector<std::string> hosts;
  std::vector<std::string> switches; ///< that the scheduler says they are at; empty texts, or none: it says nothing
};

/// The profile of a probe that has finished its links and not failed. A rack whose nodes alone are at one switch is
/// named after it. It does not pass check() where a host stands for several nodes.
Profile profile_of(const Probe& probe, const NodeNames& names, const std::string& transport, std::int64_t now);

/// "4 nodes measured in 6 rounds, 452 ms: 119.1 MB/s and 154 us from node to node, …", for the log.
std::string sentence_of(const Probe& probe, const NodeNames& names);
/// "a core copies 42 GB/s in its cache, 35 GB/s when all do, and sums …".
std::string sentence_of(const MemoryRates& cache, const MemoryRates& memory);
/// A line for each kind of link of which messages were timed: "messages between nodes: 8B 25 us, …; the MPI library's
/// 8B 31 us, …".
std::vector<std::string> sentences_of(const MessageTimesByLink& messages);

/// "messages of all ranks at once: a node sends one every 45 us".
std::string sentence_of_gap(double gap);

/// What is slower than the rest, a phrase for each: "slow network card of n3: 25% of the others' bandwidth".
std::vector<std::string> findings(const Profile& profile);

} // namespace strata::tune
