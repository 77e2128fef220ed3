// SPDX-License-Identifier: BSD-3-Clause
// STRATA_LEVELS: factors ("4x2x2"), or explicit groups ("0,1|2,3,4|5 / 0-4|5").
#include "base/number_runs.h"
#include "base/text.h"
#include "topo/groups.h"

#include <fmt/format.h>

#include <utility>

namespace strata::topo {

namespace {

Error refusal(std::string message) { return argument_error(std::move(message)); }

std::string level_name(std::size_t index) { return fmt::format("level{}", index); }

Result<Hierarchy> from_factors(std::string_view text, std::int32_t ranks) {
  Hierarchy hierarchy;
  hierarchy.ranks = ranks;
  std::int64_t product = 1; // Ranks per group of the level so far.
  std::size_t index = 0;
  for (std::string_view part : split(text, 'x')) {
    const auto factor = parse_number(trim(part));
    if (!factor || *factor < 1 || *factor > static_cast<std::uint64_t>(ranks))
      return refusal(fmt::format("factor {} of \"{}\", \"{}\", is no whole number from 1 to {} (the ranks)", index,
                                 printable(text), printable(part), ranks));
    product *= static_cast<std::int64_t>(*factor);
    if (product > ranks)
      return refusal(fmt::format("factors 0 to {} of \"{}\" make {} ranks already, but there are {}", index,
                                 printable(text), product, ranks));
    ++index;
    if (*factor == 1) continue;
    std::vector<std::int64_t> keys;
    for (std::int32_t rank = 0; rank < ranks; ++rank)
      keys.push_back(rank / product);
    hierarchy.levels.push_back(level_of(level_name(hierarchy.levels.size()), keys));
  }
  if (product != ranks)
    return refusal(fmt::format("\"{}\" makes {} ranks, but there are {}", printable(text), product, ranks));
  return hierarchy;
}

/// "3" or "0-4".
bool parse_range(std::string_view part, std::int32_t ranks, std::int32_t& first, std::int32_t& last) {
  const auto dash = part.find('-');
  const auto begin = parse_number(trim(part.substr(0, dash)));
  const auto end = dash == std::string_view::npos ? begin : parse_number(trim(part.substr(dash + 1)));
  if (!begin || !end || *begin > *end || *end >= static_cast<std::uint64_t>(ranks)) return false;
  first = static_cast<std::int32_t>(*begin);
  last = static_cast<std::int32_t>(*end);
  return true;
}

Result<Level> parse_level(std::string_view text, std::size_t index, std::int32_t ranks) {
  std::vector<std::int64_t> group_of(static_cast<std::size_t>(ranks), -1);
  std::int64_t group = 0;
  for (std::string_view group_text : split(text, '|')) {
    for (std::string_view part : split(group_text, ',')) {
      std::int32_t first = 0, last = 0;
      if (!parse_range(trim(part), ranks, first, last))
        return refusal(fmt::format("level {}, group {}: \"{}\" is no rank or range of ranks (0 to {})", index, group,
                                   printable(trim(part)), ranks - 1));
      for (std::int32_t rank = first; rank <= last; ++rank)
        if (std::exchange(group_of[static_cast<std::size_t>(rank)], group) >= 0)
          return refusal(fmt::format("level {}, group {}: rank {} is named for the second time", index, group, rank));
    }
    ++group;
  }
  for (std::size_t rank = 0; rank < group_of.size(); ++rank)
    if (group_of[rank] < 0) return refusal(fmt::format("level {}: rank {} is in no group", index, rank));
  return level_of(level_name(index), group_of);
}

Result<Hierarchy> from_groups(std::string_view text, std::int32_t ranks) {
  Hierarchy hierarchy;
  hierarchy.ranks = ranks;
  const auto parts = split(text, '/');
  if (parts.size() > most_levels)
    return refusal(fmt::format("{} levels are given, {} at most are allowed", parts.size(), most_levels));
  std::int32_t units = ranks;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    auto level = parse_level(parts[index], index, ranks);
    if (!level) return level.error();
    if (index > 0) {
      const Level& before = hierarchy.levels.back();
      if (const std::int32_t group = first_divided(before, *level); group >= 0)
        return refusal(fmt::format("level {} divides group {} of level {} (ranks {}), but may only join groups", index,
                                   group, index - 1, printable(number_list(ranks_of(before, group)))));
    }
    if (level->groups == units)
      return refusal(index == 0
                         ? "level 0 joins nothing: each of its groups is a single rank"
                         : fmt::format("level {} joins nothing: its groups are those of level {}", index, index - 1));
    units = level->groups;
    hierarchy.levels.push_back(std::move(*level));
  }
  if (units > 1) {
    const std::vector<std::int64_t> together(static_cast<std::size_t>(ranks), 0);
    hierarchy.levels.push_back(level_of(level_name(parts.size()), together));
  }
  return hierarchy;
}

} // namespace

Result<Hierarchy> hierarchy_by_hand(const std::string& text, std::span<const RankFacts> facts) {
  const std::string_view levels = trim(text);
  if (levels.empty()) return refusal("no level is given (factors such as 4x2, or groups such as 0,1|2,3)");
  if (facts.empty()) return refusal("there are no ranks");
  const auto ranks = static_cast<std::int32_t>(facts.size());
  const bool explicit_groups = levels.find_first_of("/|,-") != std::string_view::npos;
  auto hierarchy = explicit_groups ? from_groups(levels, ranks) : from_factors(levels, ranks);
  if (hierarchy)
    for (Level& level : hierarchy->levels)
      level.link = link_within(level, facts);
  return hierarchy;
}

} // namespace strata::topo
