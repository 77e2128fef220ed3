// SPDX-License-Identifier: BSD-3-Clause
// Composes flat algorithms over the levels of a hierarchy into one schedule.
#pragma once

#include "base/result.h"
#include "coll/algorithm.h"
#include "topo/hierarchy.h"
#include "topo/regular.h"

#include <optional>
#include <string>
#include <vector>

namespace strata::hier {

/// What a level does with the range that a group brings to it.
enum class Shape : std::uint8_t {
  scatter, ///< reduce-scatter on the way up, all-gather on the way down: every member works on its part
  leader,  ///< reduce to one member on the way up, broadcast on the way down: fewest messages, for small vectors
  exchange ///< all-reduce in one go; only at the outermost level
};

struct LevelPlan {
  const coll::Algorithm* algorithm = nullptr;
  Shape shape = Shape::scatter;
};

/// One entry per level of the hierarchy, innermost first.
struct Composition {
  std::vector<LevelPlan> levels;
};

/// "direct", "direct+ring", "direct.leader+recursive_doubling.exchange": innermost level first.
std::string to_text(const Composition& composition);

/// Parses the same, separated by '+' or ','. One name stands for all levels. Without a shape, a level is `scatter` if
/// its algorithm has the forms for it; else the outermost level is `exchange`, the others `leader`. The error names
/// the level and what is allowed.
Result<Composition> composition_from(const std::string& text, const topo::Hierarchy& hierarchy);

/// The forms that a level runs, on the way up and on the way down (an exchange has one).
std::vector<const coll::Form*> forms_of(const LevelPlan& plan);

/// Whether every level's algorithm has the forms that its shape needs; the error names the level.
Status check(const Composition& composition, const topo::Hierarchy& hierarchy);

/// All programs of one hierarchy and composition; a program is made only for the rank that asks. Of a regular hierarchy
/// nothing else is kept. Of others the ownership of ranges is: O(ranks) memory.
class AllReduce {
public:
  /// `hierarchy` and `composition` fit each other (see check).
  AllReduce(const topo::Hierarchy& hierarchy, const Composition& composition);
  AllReduce(topo::Regular hierarchy, const Composition& composition);

  sched::Program program(int rank) const;

private:
  /// Who holds which part of the slice in a group after its levels' reduce-scatters: the piece from `begin` to the
  /// next.
  struct Holding {
    sched::Unit begin;
    std::int32_t rank;
  };
  using Holdings = std::vector<Holding>;

  /// A group above level 0 or a single rank: a vertex of the tree of groups.
  struct Vertex {
    int level = -1; ///< -1: a single rank
    std::vector<std::int32_t> children;
    Holdings holdings;
  };

  /// A piece of the slice and the ranks, one of each child, that work on it together.
  struct Rail {
    sched::Range range;
    std::vector<std::int32_t> ranks;
  };
  /// The rails of one vertex on which a rank is.
  struct Stage {
    std::size_t level;
    std::vector<Rail> rails;
  };

  std::vector<Rail> rails_of(const Vertex& vertex) const;
  void settle_vertices(const topo::Hierarchy& hierarchy);
  void settle_holdings(Vertex& vertex);
  std::vector<Stage> stages_of(int rank) const;
  std::vector<Stage> regular_stages_of(int rank) const;
  void climb(sched::ProgramBuilder& builder, std::span<const Stage> stages, sched::Place source) const;

  int ranks_;
  Composition composition_;
  std::optional<topo::Regular> regular_; ///< and no vertices
  std::vector<Vertex> vertices_;
  std::vector<std::int32_t> parent_;
};

} // namespace strata::hier
