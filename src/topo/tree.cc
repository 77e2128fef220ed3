// SPDX-License-Identifier: BSD-3-Clause
#include "topo/tree.h"

#include "base/number_runs.h"
#include "topo/groups.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::topo {

namespace {

/// Gives labels to the largest groups whose ranks all have the same.
void place_labels(Branch& branch, std::span<const std::string> labels) {
  if (labels.empty()) return;
  const std::string& first = labels[static_cast<std::size_t>(branch.ranks.front())];
  const bool same = std::all_of(branch.ranks.begin(), branch.ranks.end(),
                                [&](std::int32_t rank) { return labels[static_cast<std::size_t>(rank)] == first; });
  if (same) {
    branch.label = first;
    return;
  }
  branch.ranks_labelled = branch.branches.empty();
  for (Branch& smaller : branch.branches)
    place_labels(smaller, labels);
}

} // namespace

Branch tree_of(const Hierarchy& hierarchy, std::span<const std::string> labels, const Remarks& remarks) {
  std::vector<Branch> smaller; // The groups of the level before, by number.
  for (std::size_t index = 0; index < hierarchy.levels.size(); ++index) {
    const Level& level = hierarchy.levels[index];
    std::vector<Branch> branches(static_cast<std::size_t>(level.groups));
    for (std::size_t rank = 0; rank < level.group_of.size(); ++rank) {
      Branch& branch = branches[static_cast<std::size_t>(level.group_of[rank])];
      branch.level = index;
      branch.group = level.group_of[rank];
      branch.ranks.push_back(static_cast<std::int32_t>(rank));
    }
    if (index < remarks.size())
      for (std::size_t group = 0; group < std::min(branches.size(), remarks[index].size()); ++group)
        branches[group].remark = remarks[index][group];
    for (Branch& inner : smaller) {
      Branch& outer = branches[static_cast<std::size_t>(level.group_of[static_cast<std::size_t>(inner.ranks.front())])];
      if (inner.ranks.size() == outer.ranks.size()) {
        outer.branches = std::move(inner.branches);
        if (outer.remark.empty()) outer.remark = std::move(inner.remark);
      } else {
        outer.branches.push_back(std::move(inner));
      }
    }
    smaller = std::move(branches);
  }
  if (labels.size() == static_cast<std::size_t>(hierarchy.ranks)) place_labels(smaller.front(), labels);
  return std::move(smaller.front());
}

std::string title_of(const Hierarchy& hierarchy, const Branch& branch) {
  const Level& level = hierarchy.levels[branch.level];
  std::string title = level.name;
  if (level.groups > 1) title += fmt::format(" {}", branch.group);
  if (branch.ranks.size() > 1) title += fmt::format(" ({})", to_text(level.link));
  title += fmt::format(": {} {}", branch.ranks.size() > 1 ? "ranks" : "rank", number_list(branch.ranks));
  if (!branch.label.empty()) title += fmt::format(" [{}]", branch.label);
  return title;
}

namespace {

void append_branch(std::string& text, const Hierarchy& hierarchy, const Branch& branch,
                   std::span<const std::string> labels, std::size_t depth) {
  text += fmt::format("{:{}}{}{}{}\n", "", 2 * depth, title_of(hierarchy, branch), branch.remark.empty() ? "" : " - ",
                      branch.remark);
  for (const Branch& smaller : branch.branches)
    append_branch(text, hierarchy, smaller, labels, depth + 1);
  if (!branch.ranks_labelled) return;
  for (const std::int32_t rank : branch.ranks)
    text += fmt::format("{:{}}rank {} [{}]\n", "", 2 * depth + 2, rank, labels[static_cast<std::size_t>(rank)]);
}

} // namespace

std::string to_text(const Hierarchy& hierarchy, std::span<const std::string> labels, const Remarks& remarks) {
  if (hierarchy.levels.empty()) return labels.empty() ? "rank 0\n" : fmt::format("rank 0 [{}]\n", labels.front());
  std::string text;
  append_branch(text, hierarchy, tree_of(hierarchy, labels, remarks), labels, 0);
  return text;
}

} // namespace strata::topo
