// SPDX-License-Identifier: BSD-3-Clause
#include "topo/hierarchy.h"

#include "base/number_runs.h"
#include "topo/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata::topo {

namespace {

/// Cache, numa, package, node and cluster as far as the facts tell them, the finer first.
std::vector<Level> candidates(std::span<const RankFacts> facts) {
  std::vector<std::int64_t> keys;
  for (const RankFacts& fact : facts)
    keys.push_back(fact.memory_group);
  std::vector<Level> outwards_in{level_of("node", keys)};
  const std::pair<const char*, std::int32_t RankFacts::*> inside[] = {
      {"package", &RankFacts::package}, {"numa", &RankFacts::numa}, {"cache", &RankFacts::cache}};
  for (const auto& [name, fact] : inside) {
    std::vector<std::int32_t> numbers;
    for (const RankFacts& one : facts)
      numbers.push_back(one.*fact);
    if (Level level = level_inside(name, numbers, outwards_in.front(), outwards_in.back()); level.groups > 0)
      outwards_in.push_back(std::move(level));
  }
  const bool is_one_node = outwards_in.front().groups == 1;
  std::vector<Level> levels = finer_first(std::move(outwards_in));
  if (!is_one_node) levels.push_back(level_of("cluster", std::vector<std::int64_t>(facts.size(), 0)));
  for (Level& level : levels)
    level.link = link_within(level, facts);
  return levels;
}

} // namespace

const char* to_text(LinkKind link) {
  switch (link) {
  case LinkKind::shared_cache:
    return "shared cache";
  case LinkKind::shared_memory:
    return "shared memory";
  case LinkKind::network:
    return "network";
  case LinkKind::uplink:
    return "shared uplink";
  }
  return "?";
}

Hierarchy hierarchy_from(std::span<const RankFacts> facts) {
  if (facts.size() <= 1) return {};
  return nested(static_cast<std::int32_t>(facts.size()), candidates(facts));
}

Hierarchy flat_hierarchy(std::span<const RankFacts> facts) {
  Hierarchy hierarchy;
  if (facts.size() <= 1) return hierarchy;
  hierarchy.ranks = static_cast<std::int32_t>(facts.size());
  Level all{"all", LinkKind::network, std::vector<std::int32_t>(facts.size(), 0), 1};
  all.link = link_within(all, facts);
  hierarchy.levels.push_back(std::move(all));
  return hierarchy;
}

bool insert_level(Hierarchy& hierarchy, Level level, LinkKind beyond) {
  if (hierarchy.levels.empty()) return false;
  const Level* below = hierarchy.levels.size() > 1 ? &hierarchy.levels[hierarchy.levels.size() - 2] : nullptr;
  const std::int32_t units = below != nullptr ? below->groups : hierarchy.ranks;
  if (level.groups == 1 || level.groups == units || (below != nullptr && first_divided(*below, level) >= 0))
    return false;
  level.link = std::exchange(hierarchy.levels.back().link, beyond);
  hierarchy.levels.insert(hierarchy.levels.end() - 1, std::move(level));
  return true;
}

Hierarchy with_racks(const Hierarchy& hierarchy, std::span<const RankFacts> facts,
                     std::span<const std::int32_t> rack_of) {
  if (hierarchy.levels.empty() || hierarchy.levels.back().link != LinkKind::network) return hierarchy;
  std::vector<std::int64_t> keys;
  for (const RankFacts& fact : facts)
    keys.push_back(rack_of[static_cast<std::size_t>(fact.memory_group)]);
  Hierarchy changed = hierarchy;
  insert_level(changed, level_of("rack", keys), LinkKind::uplink);
  return changed;
}

bool same_groups(const Hierarchy& one, const Hierarchy& other) {
  return std::equal(one.levels.begin(), one.levels.end(), other.levels.begin(), other.levels.end(),
                    [](const Level& a, const Level& b) { return a.group_of == b.group_of; });
}

namespace {

/// The groups of one level: complete, and numbered by their lowest rank.
Status check_groups(const Hierarchy& hierarchy, const Level& level, const std::string& which) {
  if (level.group_of.size() != static_cast<std::size_t>(hierarchy.ranks))
    return argument_error(fmt::format("{} places {} ranks of {}", which, level.group_of.size(), hierarchy.ranks));
  std::int32_t next = 0;
  for (std::size_t rank = 0; rank < level.group_of.size(); ++rank) {
    const std::int32_t group = level.group_of[rank];
    if (group < 0 || group > next)
      return argument_error(fmt::format("{} has rank {} in group {}, but groups are numbered by their "
                                        "lowest rank, so that {} is the next",
                                        which, rank, group, next));
    if (group == next) ++next;
  }
  if (next != level.groups)
    return argument_error(fmt::format("{} says {} groups and has {}", which, level.groups, next));
  return ok();
}

} // namespace

Status check(const Hierarchy& hierarchy) {
  if (hierarchy.ranks < 1) return argument_error(fmt::format("{} ranks", hierarchy.ranks));
  std::int32_t units = hierarchy.ranks;
  for (std::size_t i = 0; i < hierarchy.levels.size(); ++i) {
    const Level& level = hierarchy.levels[i];
    const std::string which = fmt::format("level {} ({})", i, level.name);
    if (auto status = check_groups(hierarchy, level, which); !status) return status;
    if (i > 0) {
      const Level& before = hierarchy.levels[i - 1];
      if (const std::int32_t group = first_divided(before, level); group >= 0)
        return argument_error(fmt::format("{} divides group {} (ranks {}) of level {}", which, group,
                                          number_list(ranks_of(before, group)), i - 1));
    }
    if (level.groups == units)
      return argument_error(
          fmt::format("{} joins nothing: it has {} groups like what it is made of", which, level.groups));
    units = level.groups;
  }
  if (units != 1) return argument_error(fmt::format("the outermost level leaves {} groups apart", units));
  return ok();
}

} // namespace strata::topo
