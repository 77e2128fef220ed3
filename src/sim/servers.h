// SPDX-License-Identifier: BSD-3-Clause
// What messages queue for: uplinks and memories that ranks share, and what one rank alone can send and receive between
// nodes. Each is a server that works on one message after the other.
#pragma once

#include "sim/machine.h"

namespace strata::sim {

/// Where a shared resource is.
struct Place {
  enum class Kind : std::uint8_t {
    up,     ///< out of a group, over its uplink
    down,   ///< into a group
    memory, ///< of a node
    out,    ///< of a rank, to other nodes
    in      ///< of a rank, from other nodes
  } kind = Kind::up;
  std::size_t tier = 0;   ///< up and down
  std::int32_t group = 0; ///< of the tier; the node, for a memory; the rank
  bool operator==(const Place&) const = default;
};

/// "node 3 up", "rack 0 down", "memory of node 2", "rank 5 out".
std::string to_text(const Machine& machine, Place place);

class Servers {
public:
  explicit Servers(const Machine& machine);

  std::size_t up(std::size_t tier, std::int32_t rank) const {
    const std::int32_t group = machine_.tiers[tier].group_of[static_cast<std::size_t>(rank)];
    return first_of_tier_[tier] + 2 * static_cast<std::size_t>(group);
  }
  std::size_t down(std::size_t tier, std::int32_t rank) const { return up(tier, rank) + 1; }
  std::size_t memory(std::int32_t rank) const {
    return first_memory_ + static_cast<std::size_t>(node_of_[static_cast<std::size_t>(rank)]);
  }

  /// Whether what one rank sends and receives between nodes has a limit of its own; only then are there these two.
  bool limits_ranks() const { return machine_.rank_per_byte > 0; }
  std::size_t out(std::int32_t rank) const { return first_rank_ + 2 * static_cast<std::size_t>(rank); }
  std::size_t in(std::int32_t rank) const { return out(rank) + 1; }

  /// Queues `bytes` that come at `time` and may not come earlier than those before them. When they begin and end.
  struct Passage {
    double begin, end;
  };
  Passage pass(std::size_t server, double time, std::int64_t bytes) {
    Server& at = servers_[server];
    at.bytes += bytes;
    if (at.per_byte == 0) return {time, time};
    const double begin = time > at.busy_until ? time : at.busy_until;
    const double work = static_cast<double>(bytes) * at.per_byte;
    at.busy += work;
    at.busy_until = begin + work;
    return {begin, at.busy_until};
  }
  bool is_limited(std::size_t server) const { return servers_[server].per_byte > 0; }

  /// The turn, a gap long, of a message that a rank has sent by `time`, behind those of its node that came before.
  Passage take_turn(std::int32_t rank, double time) {
    double& last = last_turn_[static_cast<std::size_t>(node_of_[static_cast<std::size_t>(rank)])];
    const double begin = std::max(time, last);
    last = begin + machine_.gap;
    return {begin, last};
  }

  std::size_t count() const { return servers_.size(); }
  Place place_of(std::size_t server) const;
  std::int64_t bytes(std::size_t server) const { return servers_[server].bytes; }
  double busy(std::size_t server) const { return servers_[server].busy; }

private:
  struct Server {
    double per_byte = 0; ///< seconds; 0: no limit
    double busy_until = 0;
    double busy = 0; ///< seconds
    std::int64_t bytes = 0;
  };
  const Machine& machine_;
  std::vector<std::int32_t> node_of_;
  std::vector<std::size_t> first_of_tier_;
  std::size_t first_memory_ = 0, first_rank_ = 0;
  std::vector<Server> servers_;
  std::vector<double> last_turn_; ///< by node: when it ends
};

} // namespace strata::sim
