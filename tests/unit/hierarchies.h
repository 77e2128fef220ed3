// SPDX-License-Identifier: BSD-3-Clause
// Hierarchies for tests: even and uneven, with ranks in any order.
#pragma once

#include "hier/composition.h"
#include "topo/groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace strata::hierarchies {

/// Places in the machine, in order, and what they lie in: by level, the group of each place.
using Machine = std::vector<std::vector<std::int64_t>>;

/// "4x2x2": factors, innermost first.
inline Machine factors(const std::vector<int>& sizes) {
  const int places = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
  Machine machine;
  int group = 1;
  for (int size : sizes) {
    group *= size;
    auto& level = machine.emplace_back();
    for (int place = 0; place < places; ++place)
      level.push_back(place / group);
  }
  return machine;
}

/// Nodes with so many places each, and the cluster of them.
inline Machine nodes(const std::vector<int>& sizes) {
  Machine machine(2);
  for (std::size_t node = 0; node < sizes.size(); ++node)
    for (int place = 0; place < sizes[node]; ++place) {
      machine[0].push_back(static_cast<std::int64_t>(node));
      machine[1].push_back(0);
    }
  return machine;
}

/// Nodes with so many places each, in racks of so many nodes.
inline Machine racks(const std::vector<std::vector<int>>& racks) {
  Machine machine(3);
  std::int64_t node = 0;
  for (std::size_t rack = 0; rack < racks.size(); ++rack)
    for (int size : racks[rack]) {
      for (int place = 0; place < size; ++place) {
        machine[0].push_back(node);
        machine[1].push_back(static_cast<std::int64_t>(rack));
        machine[2].push_back(0);
      }
      ++node;
    }
  return machine;
}

/// Which place a rank has.
using Mapping = std::vector<std::size_t>;

inline Mapping by_slot(const Machine& machine) {
  Mapping mapping(machine[0].size());
  std::iota(mapping.begin(), mapping.end(), std::size_t{0});
  return mapping;
}

/// Round robin over the groups of level 0, as mpirun's --map-by node.
inline Mapping by_node(const Machine& machine) {
  Mapping mapping;
  std::vector<bool> taken(machine[0].size(), false);
  while (mapping.size() < taken.size()) {
    std::int64_t last_group = -1;
    for (std::size_t place = 0; place < taken.size(); ++place)
      if (!taken[place] && machine[0][place] > last_group) {
        last_group = machine[0][place];
        taken[place] = true;
        mapping.push_back(place);
      }
  }
  return mapping;
}

inline Mapping shuffled(const Machine& machine, std::mt19937& random) {
  Mapping mapping = by_slot(machine);
  std::shuffle(mapping.begin(), mapping.end(), random);
  return mapping;
}

/// Levels that join nothing are left out.
inline topo::Hierarchy hierarchy(const Machine& machine, const Mapping& mapping) {
  topo::Hierarchy made;
  made.ranks = static_cast<std::int32_t>(mapping.size());
  std::int32_t units = made.ranks;
  for (const auto& groups : machine) {
    std::vector<std::int64_t> keys;
    for (std::size_t place : mapping)
      keys.push_back(groups[place]);
    topo::Level level = topo::level_of(fmt::format("level{}", made.levels.size()), keys);
    if (level.groups == units) continue;
    units = level.groups;
    made.levels.push_back(std::move(level));
  }
  return made;
}
inline topo::Hierarchy hierarchy(const Machine& machine) { return hierarchy(machine, by_slot(machine)); }

/// Everything that a level may run.
inline std::vector<hier::LevelPlan> level_plans(bool outermost) {
  std::vector<hier::LevelPlan> plans;
  for (const coll::Algorithm& row : coll::registry()) {
    if (row.reduce_scatter && row.all_gather) plans.push_back({&row, hier::Shape::scatter});
    if (row.reduce && row.broadcast) plans.push_back({&row, hier::Shape::leader});
    if (outermost && row.all_reduce) plans.push_back({&row, hier::Shape::exchange});
  }
  return plans;
}

/// Every combination of them.
inline std::vector<hier::Composition> compositions(std::size_t levels) {
  std::vector<hier::Composition> all(1);
  for (std::size_t level = 0; level < levels; ++level) {
    std::vector<hier::Composition> longer;
    for (const hier::Composition& composition : all)
      for (const hier::LevelPlan& plan : level_plans(level + 1 == levels)) {
        longer.push_back(composition);
        longer.back().levels.push_back(plan);
      }
    all = std::move(longer);
  }
  return all;
}

/// At most `count` of them, by chance.
inline std::vector<hier::Composition> some_compositions(std::size_t levels, std::size_t count, std::mt19937& random) {
  std::vector<hier::Composition> all = compositions(levels);
  std::shuffle(all.begin(), all.end(), random);
  if (all.size() > count) all.resize(count);
  return all;
}

inline std::vector<sched::Program> programs(const topo::Hierarchy& hierarchy, const hier::Composition& composition) {
  const hier::AllReduce all_reduce(hierarchy, composition);
  std::vector<sched::Program> all;
  for (int rank = 0; rank < hierarchy.ranks; ++rank)
    all.push_back(all_reduce.program(rank));
  return all;
}

inline std::string describe(const topo::Hierarchy& hierarchy, const hier::Composition& composition) {
  std::string text = hier::to_text(composition);
  for (const topo::Level& level : hierarchy.levels)
    text += fmt::format("; {}", fmt::join(level.group_of, " "));
  return text;
}

} // namespace strata::hierarchies
