// SPDX-License-Identifier: BSD-3-Clause
#include "topo/groups.h"

#include <algorithm>
#include <unordered_map>

namespace strata::topo {

Level level_of(std::string name, std::span<const std::int64_t> keys) {
  Level level;
  level.name = std::move(name);
  level.group_of.reserve(keys.size());
  std::unordered_map<std::int64_t, std::int32_t> number;
  for (const std::int64_t key : keys)
    level.group_of.push_back(number.try_emplace(key, static_cast<std::int32_t>(number.size())).first->second);
  level.groups = static_cast<std::int32_t>(number.size());
  return level;
}

Level level_inside(std::string name, std::span<const std::int32_t> numbers, const Level& node, const Level& outer) {
  std::vector<bool> complete(static_cast<std::size_t>(node.groups), true);
  for (std::size_t rank = 0; rank < numbers.size(); ++rank)
    if (numbers[rank] < 0) complete[static_cast<std::size_t>(node.group_of[rank])] = false;
  if (std::find(complete.begin(), complete.end(), true) == complete.end()) return {};

  std::vector<std::int64_t> keys;
  keys.reserve(numbers.size());
  for (std::size_t rank = 0; rank < numbers.size(); ++rank) {
    const auto group = static_cast<std::size_t>(node.group_of[rank]);
    const std::int64_t inside = complete[group] ? numbers[rank] : -1 - std::int64_t{outer.group_of[rank]};
    keys.push_back((static_cast<std::int64_t>(group) << 33) + inside);
  }
  return level_of(std::move(name), keys);
}

std::vector<Level> finer_first(std::vector<Level> outwards_in) {
  std::reverse(outwards_in.begin(), outwards_in.end());
  std::stable_sort(outwards_in.begin(), outwards_in.end(),
                   [](const Level& one, const Level& other) { return one.groups > other.groups; });
  return outwards_in;
}

Hierarchy nested(std::int32_t ranks, std::vector<Level> levels) {
  Hierarchy hierarchy;
  hierarchy.ranks = ranks;
  for (Level& level : levels) {
    if (level.groups == ranks) continue; // Joins nothing.
    if (hierarchy.levels.empty()) {
      hierarchy.levels.push_back(std::move(level));
    } else if (Level& before = hierarchy.levels.back(); level.group_of == before.group_of) {
      before.name = std::move(level.name);
      before.link = level.link;
    } else if (first_divided(before, level) < 0) {
      hierarchy.levels.push_back(std::move(level));
    }
  }
  return hierarchy;
}

LinkKind link_within(const Level& level, std::span<const RankFacts> facts) {
  LinkKind link = LinkKind::shared_cache;
  std::vector<std::int32_t> lowest(static_cast<std::size_t>(level.groups), -1);
  for (std::size_t rank = 0; rank < facts.size(); ++rank) {
    std::int32_t& first = lowest[static_cast<std::size_t>(level.group_of[rank])];
    if (first < 0) {
      first = static_cast<std::int32_t>(rank);
      continue;
    }
    const RankFacts& one = facts[static_cast<std::size_t>(first)];
    const RankFacts& other = facts[rank];
    if (one.memory_group != other.memory_group) return LinkKind::network;
    if (one.cache < 0 || one.cache != other.cache) link = LinkKind::shared_memory;
  }
  return link;
}

std::int32_t first_divided(const Level& inner, const Level& outer) {
  std::vector<std::int32_t> parent(static_cast<std::size_t>(inner.groups), -1);
  for (std::size_t rank = 0; rank < inner.group_of.size(); ++rank) {
    std::int32_t& group = parent[static_cast<std::size_t>(inner.group_of[rank])];
    if (group < 0) group = outer.group_of[rank];
    if (group != outer.group_of[rank]) return inner.group_of[rank];
  }
  return -1;
}

std::vector<std::int32_t> most_members(const Hierarchy& hierarchy) {
  std::vector<std::int32_t> most;
  for (std::size_t l = 0; l < hierarchy.levels.size(); ++l) {
    const Level& level = hierarchy.levels[l];
    std::vector<std::int32_t> members(static_cast<std::size_t>(level.groups), 0);
    std::int32_t next = 0; // member; they are numbered by their lowest rank
    for (std::size_t r = 0; r < level.group_of.size(); ++r) {
      const std::int32_t member = l == 0 ? static_cast<std::int32_t>(r) : hierarchy.levels[l - 1].group_of[r];
      if (member != next) continue;
      ++next;
      ++members[static_cast<std::size_t>(level.group_of[r])];
    }
    most.push_back(*std::max_element(members.begin(), members.end()));
  }
  return most;
}

std::vector<std::int32_t> ranks_of(const Level& level, std::int32_t group) {
  std::vector<std::int32_t> ranks;
  for (std::size_t rank = 0; rank < level.group_of.size(); ++rank)
    if (level.group_of[rank] == group) ranks.push_back(static_cast<std::int32_t>(rank));
  return ranks;
}

} // namespace strata::topo
