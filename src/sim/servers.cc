// SPDX-License-Identifier: BSD-3-Clause
#include "sim/servers.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::sim {

std::string to_text(const Machine& machine, Place place) {
  if (place.kind == Place::Kind::memory) return fmt::format("memory of node {}", place.group);
  if (place.kind == Place::Kind::out || place.kind == Place::Kind::in)
    return fmt::format("rank {} {}", place.group, place.kind == Place::Kind::out ? "out" : "in");
  return fmt::format("{} {} {}", machine.tiers[place.tier].name, place.group,
                     place.kind == Place::Kind::up ? "up" : "down");
}

Servers::Servers(const Machine& machine) : machine_(machine), node_of_(nodes_of(machine)) {
  for (const Tier& tier : machine.tiers) {
    first_of_tier_.push_back(servers_.size());
    servers_.resize(servers_.size() + 2 * static_cast<std::size_t>(tier.groups), {tier.link.per_byte, 0, 0, 0});
  }
  first_memory_ = servers_.size();
  const std::int32_t last_node = *std::max_element(node_of_.begin(), node_of_.end());
  servers_.resize(servers_.size() + static_cast<std::size_t>(last_node) + 1, {machine.memory_per_byte, 0, 0, 0});
  last_turn_.resize(static_cast<std::size_t>(last_node) + 1, 0);
  first_rank_ = servers_.size();
  if (limits_ranks())
    servers_.resize(first_rank_ + 2 * static_cast<std::size_t>(machine.ranks), {machine.rank_per_byte, 0, 0, 0});
}

Place Servers::place_of(std::size_t server) const {
  if (server >= first_rank_) {
    const std::size_t inside = server - first_rank_;
    return {inside % 2 == 0 ? Place::Kind::out : Place::Kind::in, 0, static_cast<std::int32_t>(inside / 2)};
  }
  if (server >= first_memory_) return {Place::Kind::memory, 0, static_cast<std::int32_t>(server - first_memory_)};
  const auto next = std::upper_bound(first_of_tier_.begin(), first_of_tier_.end(), server);
  const auto tier = static_cast<std::size_t>(next - first_of_tier_.begin()) - 1;
  const std::size_t inside = server - first_of_tier_[tier];
  return {inside % 2 == 0 ? Place::Kind::up : Place::Kind::down, tier, static_cast<std::int32_t>(inside / 2)};
}

} // namespace strata::sim
