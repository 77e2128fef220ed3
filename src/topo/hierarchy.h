// SPDX-License-Identifier: BSD-3-Clause
// The hierarchy of links among the ranks of one communicator: levels of ever larger groups.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace strata::topo {

/// What joins the members of a group; the cost model has parameters per kind.
enum class LinkKind : std::uint8_t {
  shared_cache,
  shared_memory,
  network,
  uplink ///< between groups of nodes that each share one way out
};

inline constexpr std::size_t link_kinds = 4;

/// Whether messages on such a link leave their node.
constexpr bool between_nodes(LinkKind link) { return link == LinkKind::network || link == LinkKind::uplink; }

/// "shared cache", "shared memory", "network", "shared uplink".
const char* to_text(LinkKind link);

/// Partition of all ranks into groups. Groups are numbered by their lowest rank, ascending.
struct Level {
  std::string name; ///< "cache", "numa", "package", "node", "rack", "island", "cluster", or "level<i>" when set by hand
  LinkKind link = LinkKind::network;
  std::vector<std::int32_t> group_of; ///< by rank
  std::int32_t groups = 0;
  bool operator==(const Level&) const = default;
};

/// More levels than this are refused when set by hand; no machine comes near.
inline constexpr std::size_t most_levels = 32;

/// Levels from the innermost (0) outwards. Each level's groups are unions of those of the level before (of single
/// ranks for level 0), the last level has one group, and no level equals the one before (level 0: at least one group
/// has two ranks). One rank alone: no level.
struct Hierarchy {
  std::int32_t ranks = 1;
  std::vector<Level> levels;
};

/// What one rank knows of its place; equal numbers mean the same object, -1 means that its binding does not lie
/// inside one. `memory_group` (agreed by comm) names the ranks that really share memory; the other numbers are compared
/// only within one memory group.
struct RankFacts {
  std::int32_t memory_group = 0;
  std::int32_t cache = -1;
  std::int32_t numa = -1;
  std::int32_t package = -1;
};

/// Levels out of the facts: cache, numa and package inside a memory group, then "node" (the memory groups), then
/// "cluster". The first three are there only if all ranks of at least one memory group have the fact; in a memory
/// group where some rank lacks it, the level has the groups of the next one outwards. Where hardware does not nest (a
/// cache that spans NUMA nodes), the finer comes first. Of equal levels one is kept, with the name of the outermost
/// ("node" on a node with one cache); a level that does not fit over the one before is dropped.
Hierarchy hierarchy_from(std::span<const RankFacts> facts);

/// One level of all ranks, whatever they share: "all". For schedules that must not depend on where the ranks are.
Hierarchy flat_hierarchy(std::span<const RankFacts> facts);

/// A hierarchy set by hand, `STRATA_LEVELS`: factors innermost first, such as "4x2x2" (product = ranks; ranks in
/// order; a factor 1 adds no level), or explicit groups per level, such as "0,1|2,3,4|5 / 0-4|5" (levels separated by
/// '/', groups by '|', ranks or ranges by ','; the outermost level of all ranks is implied). A level's link is what all
/// ranks of each of its groups share by `facts`: a cache, memory, or nothing (network).
/// \return an Error that names the offending part and what is allowed.
Result<Hierarchy> hierarchy_by_hand(const std::string& text, std::span<const RankFacts> facts);

/// Puts a level of groups of nodes below the outermost one, whose link it takes over; `beyond` then joins its groups.
/// False, and nothing is changed, where it would join nothing, or everything, or divide what is one already.
bool insert_level(Hierarchy& hierarchy, Level level, LinkKind beyond);

/// The hierarchy with a level "rack" below its outermost one, whose link is then a shared uplink. `rack_of` is by
/// memory group; racks are unions of memory groups. Unchanged where that level would join nothing, or everything.
Hierarchy with_racks(const Hierarchy& hierarchy, std::span<const RankFacts> facts,
                     std::span<const std::int32_t> rack_of);

/// Whether both have the same groups, whatever their levels are called and joined by.
bool same_groups(const Hierarchy& one, const Hierarchy& other);

/// Checks the invariants above; the error says which is broken.
Status check(const Hierarchy& hierarchy);

/// What is to be said of each group, by level and number; no levels: nothing.
using Remarks = std::vector<std::vector<std::string>>;

/// The tree as indented text. `labels` (by rank; may be empty) are shown at the ranks, e.g. host names, or once at the
/// largest group whose ranks all have the same:
///   cluster (network): ranks 0-5
///     node 0 (shared memory): ranks 0-3 [n1]
///     node 1 (shared memory): ranks 4,5 [n2]
/// A group's remark stands at the end of its line, after a dash.
std::string to_text(const Hierarchy& hierarchy, std::span<const std::string> labels, const Remarks& remarks = {});

} // namespace strata::topo
