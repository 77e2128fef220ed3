// SPDX-License-Identifier: BSD-3-Clause
#include "topo/regular.h"

#include <algorithm>

namespace strata::topo {
namespace {

/// How far the next member of rank 0's group is away; 0: there is none.
std::int32_t first_stride(const Level& level, const Level* inner) {
  for (std::size_t rank = 1; rank < level.group_of.size(); ++rank)
    if (level.group_of[rank] == 0 && (inner == nullptr || inner->group_of[rank] != 0))
      return static_cast<std::int32_t>(rank);
  return 0;
}

/// Whether the levels' digits make up each rank's number exactly once.
bool are_digits(const Regular& regular) {
  std::vector<const RegularLevel*> order;
  for (const RegularLevel& level : regular.levels)
    order.push_back(&level);
  std::sort(order.begin(), order.end(),
            [](const RegularLevel* a, const RegularLevel* b) { return a->stride < b->stride; });
  std::int64_t stride = 1;
  for (const RegularLevel* level : order) {
    if (level->stride != stride) return false;
    stride *= level->members;
  }
  return stride == regular.ranks;
}

/// Whether every rank is in the group of the rank that has its place further out, and is first further in.
bool fits(const Regular& regular, const Hierarchy& hierarchy) {
  for (std::int32_t rank = 0; rank < regular.ranks; ++rank) {
    std::int32_t lowest = rank;
    for (std::size_t l = 0; l < regular.levels.size(); ++l) {
      const auto& group_of = hierarchy.levels[l].group_of;
      lowest -= regular.place(rank, l) * regular.levels[l].stride;
      if (group_of[static_cast<std::size_t>(rank)] != group_of[static_cast<std::size_t>(lowest)]) return false;
    }
  }
  return true; // As there are so many groups, different ones of these ranks are in different groups.
}

} // namespace

std::vector<std::int32_t> Regular::group(std::int32_t rank, std::size_t level) const {
  const RegularLevel& row = levels[level];
  const std::int32_t first = rank - place(rank, level) * row.stride;
  std::vector<std::int32_t> members;
  members.reserve(static_cast<std::size_t>(row.members));
  for (std::int32_t member = 0; member < row.members; ++member)
    members.push_back(first + member * row.stride);
  return members;
}

std::optional<Regular> regular_from(const Hierarchy& hierarchy) {
  Regular regular{hierarchy.ranks, {}};
  std::int32_t units = hierarchy.ranks;
  const Level* inner = nullptr;
  for (const Level& level : hierarchy.levels) {
    if (level.groups < 1 || units % level.groups != 0) return std::nullopt;
    const std::int32_t stride = first_stride(level, inner);
    if (stride == 0) return std::nullopt;
    regular.levels.push_back({level.name, level.link, units / level.groups, stride});
    units = level.groups;
    inner = &level;
  }
  if (!are_digits(regular) || !fits(regular, hierarchy)) return std::nullopt;
  return regular;
}

Hierarchy outline_of(const Regular& regular) {
  Hierarchy outline;
  outline.ranks = regular.ranks;
  std::int32_t groups = regular.ranks;
  for (const RegularLevel& level : regular.levels) {
    groups /= level.members;
    outline.levels.push_back({level.name, level.link, {}, groups});
  }
  return outline;
}

} // namespace strata::topo
