// SPDX-License-Identifier: BSD-3-Clause
// Partitions of ranks, as the levels of a hierarchy are made of them.
#pragma once

#include "topo/hierarchy.h"

namespace strata::topo {

/// A level whose groups are the ranks with equal `keys`, numbered by their lowest rank.
Level level_of(std::string name, std::span<const std::int64_t> keys);

/// The groups inside nodes of the ranks with equal `numbers`, by rank. In a node where some rank has none (-1), those
/// of `outer`. No groups when no node has all.
Level level_inside(std::string name, std::span<const std::int32_t> numbers, const Level& node, const Level& outer);

/// Levels from the outermost inwards, turned round; those of more groups first.
std::vector<Level> finer_first(std::vector<Level> outwards_in);

/// What becomes a hierarchy of `ranks` of these levels: what joins nothing is left out, of equal ones one is kept, with
/// the name and the link of the outermost, and one that does not fit over the one before is dropped.
Hierarchy nested(std::int32_t ranks, std::vector<Level> levels);

/// What all ranks of each group share.
LinkKind link_within(const Level& level, std::span<const RankFacts> facts);

/// The first group of `inner` that `outer` divides; -1 when the groups of `outer` are unions of those of `inner`.
std::int32_t first_divided(const Level& inner, const Level& outer);

/// By level, the ranks or groups of the level before in the group that has most.
std::vector<std::int32_t> most_members(const Hierarchy& hierarchy);

/// The ranks of one group, ascending.
std::vector<std::int32_t> ranks_of(const Level& level, std::int32_t group);

} // namespace strata::topo
