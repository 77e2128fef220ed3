// SPDX-License-Identifier: BSD-3-Clause
// What a message takes from one rank to another, by its size and by the link that joins the two.
#pragma once

#include "topo/hierarchy.h"

#include <array>
#include <cstddef>

namespace strata::tune {

/// Bytes of the messages that are timed.
inline constexpr std::array<std::size_t, 5> message_sizes{8, 512, 4096, 32768, 262144};
/// The same as texts name them.
inline constexpr std::array<const char*, message_sizes.size()> message_size_names{"8B", "512B", "4KiB", "32KiB",
                                                                                  "256KiB"};

/// Seconds of one message, one way, by message_sizes; 0: not measured.
using SecondsBySize = std::array<double, message_sizes.size()>;

/// Between two ranks that are joined by a link of one kind, while nothing else is under way there.
struct MessageTimes {
  SecondsBySize strata{}; ///< by strata's own transport, from memory of the sender into memory of the receiver
  SecondsBySize native{}; ///< by the MPI library's point-to-point
  bool operator==(const MessageTimes&) const = default;
};

/// The links as texts name them, by topo::LinkKind.
inline constexpr std::array<const char*, topo::link_kinds> message_link_names{"cache", "memory", "network", "uplink"};

/// By topo::LinkKind.
using MessageTimesByLink = std::array<MessageTimes, topo::link_kinds>;

/// Seconds of a message of `bytes`: between two sizes that were measured, on the line through both; below the smallest
/// of them, as that; above the largest, on the line through the last two, or with one of them, in proportion to it.
/// 0: nothing was measured.
double seconds_of(const SecondsBySize& measured, double bytes);

/// What each further byte costs, from the two largest sizes that were measured; 0: there are no two, or the larger one
/// did not take longer.
double seconds_per_byte(const SecondsBySize& measured);

/// The latency of a link on which messages were timed as well. What is more than twice what the smallest of these takes
/// was measured while other messages were in the way: then that is it.
double latency_beside(double latency, const SecondsBySize& measured);

} // namespace strata::tune
