// SPDX-License-Identifier: BSD-3-Clause
#include "sim/machine.h"

#include "topo/groups.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace strata::sim {
namespace {

/// hwloc's word, which strata's hierarchies use.
std::string name_in_hierarchy(const std::string& name) { return name == "socket" ? "package" : name; }

} // namespace

std::int64_t MachineLine::places_of_node() const {
  std::int64_t places = 1;
  for (const LineLevel& level : levels)
    if (level.medium == Medium::memory) places *= level.count;
  return places;
}

std::vector<std::int64_t> places_of(const MachineLine& line, const Mapping& mapping) {
  std::int64_t places = 1;
  for (const LineLevel& level : line.levels)
    places *= level.count;
  std::vector<std::int64_t> order(static_cast<std::size_t>(places));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (mapping.kind == Mapping::Kind::node) {
    const std::int64_t node_places = line.places_of_node(), nodes = places / node_places;
    for (std::int64_t rank = 0; rank < places; ++rank)
      order[static_cast<std::size_t>(rank)] = rank % nodes * node_places + rank / nodes;
  }
  if (mapping.kind == Mapping::Kind::random) {
    // Not std::shuffle, whose order depends on the standard library.
    std::mt19937_64 random(mapping.seed);
    for (std::size_t left = order.size(); left > 1; --left)
      std::swap(order[left - 1], order[random() % left]);
  }
  order.resize(static_cast<std::size_t>(line.ranks));
  return order;
}

Machine machine_from(const MachineLine& line, const Mapping& mapping) {
  const std::vector<std::int64_t> order = places_of(line, mapping);
  Machine machine;
  machine.ranks = static_cast<std::int32_t>(line.ranks);
  machine.core = line.core;
  machine.memory_per_byte = line.memory_per_byte;
  machine.rank_per_byte = line.rank_per_byte;
  machine.gap = line.gap;
  std::int64_t group_places = 1;
  std::vector<std::int64_t> keys(order.size());
  for (auto level = line.levels.rbegin(); level != line.levels.rend(); ++level) {
    std::transform(order.begin(), order.end(), keys.begin(), [&](std::int64_t place) { return place / group_places; });
    topo::Level groups = topo::level_of(level->name, keys);
    machine.tiers.push_back({level->name, level->medium, level->link, std::move(groups.group_of), groups.groups});
    group_places *= level->count;
  }
  return machine;
}

topo::Hierarchy hierarchy_of(const Machine& machine) {
  topo::Hierarchy hierarchy;
  hierarchy.ranks = machine.ranks;
  std::int32_t units = machine.ranks;
  for (std::size_t t = 0; t < machine.tiers.size(); ++t) {
    // What the groups of a tier are joined to: the groups of the next.
    const bool outermost = t + 1 == machine.tiers.size();
    const bool network = machine.tiers[t].medium == Medium::network;
    topo::Level level{network ? "cluster" : "node", topo::LinkKind::network, {}, 1};
    if (outermost) {
      level.group_of.assign(static_cast<std::size_t>(machine.ranks), 0);
    } else {
      const Tier& outer = machine.tiers[t + 1];
      level = {name_in_hierarchy(outer.name), topo::LinkKind::network, outer.group_of, outer.groups};
      if (outer.name == "cache") level.link = topo::LinkKind::shared_cache;
    }
    if (!network && level.link == topo::LinkKind::network) level.link = topo::LinkKind::shared_memory;
    if (level.groups < units) {
      units = level.groups;
      hierarchy.levels.push_back(std::move(level));
    } else if (!hierarchy.levels.empty() && !network) {
      hierarchy.levels.back().name = level.name; // the same groups: the name of the outermost
    }
  }
  return hierarchy;
}

std::size_t memory_tiers(const Machine& machine) {
  return static_cast<std::size_t>(std::count_if(machine.tiers.begin(), machine.tiers.end(),
                                                [](const Tier& tier) { return tier.medium == Medium::memory; }));
}

std::vector<std::int32_t> nodes_of(const Machine& machine) {
  const std::size_t memory = memory_tiers(machine);
  if (memory < machine.tiers.size()) return machine.tiers[memory].group_of;
  return std::vector<std::int32_t>(static_cast<std::size_t>(machine.ranks), 0);
}

std::vector<topo::RankFacts> facts_of(const Machine& machine) {
  std::vector<topo::RankFacts> facts;
  for (const std::int32_t node : nodes_of(machine))
    facts.push_back({.memory_group = node});
  return facts;
}

double bound_of(const Machine& machine, std::int64_t bytes) {
  double bound = 0;
  for (const Tier& tier : machine.tiers)
    if (tier.medium == Medium::network && tier.groups > 1)
      bound = std::max(bound, 2.0 * (tier.groups - 1) / tier.groups * static_cast<double>(bytes) * tier.link.per_byte);
  return bound;
}

} // namespace strata::sim
