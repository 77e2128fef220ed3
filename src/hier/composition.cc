// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical all-reduce (Cho et al., BlueConnect, IBM J. Res. Dev. 63(6), 2019, section 3; rails for unequal groups
// are ours).
//
// Think of the ranks as leaves of the tree of groups. On the way up, every vertex combines what its children hold.
// After a child's own levels, each position of the slice is held, reduced over that child, by exactly one of its
// ranks. So the vertex cuts the slice at every point where some child changes hands; between two cuts lies a rail:
// a range, and one rank of each child that holds it.
//
//     child A (2 ranks)   |  a0           |  a1           |
//     child B (3 ranks)   |  b0     |  b1     |  b2       |
//     rails               | a0 b0   |a0b1|a1b1| a1 b2     |
//
// Along each rail the ranks do a flat reduce-scatter and so divide the rail among themselves: that is what the vertex
// holds towards its own parent. At the root, all-gathers begin, along the same rails, back down to the leaves.
//
// Children of equal size give one rail per rank, as in BlueConnect, and level i moves 2(pi-1)/pi * S/(p0...p(i-1))
// bytes per rank. Unequal children cost nothing but narrower rails; a rank may serve several. A child of one rank
// serves all rails of its parent.
#include "hier/composition.h"

#include <algorithm>

namespace strata::hier {

using sched::Range;
using sched::Unit;

AllReduce::AllReduce(const topo::Hierarchy& hierarchy, const Composition& composition)
    : ranks_(hierarchy.ranks), composition_(composition), regular_(topo::regular_from(hierarchy)) {
  if (!regular_) settle_vertices(hierarchy);
}

AllReduce::AllReduce(topo::Regular hierarchy, const Composition& composition)
    : ranks_(hierarchy.ranks), composition_(composition), regular_(std::move(hierarchy)) {}

void AllReduce::settle_vertices(const topo::Hierarchy& hierarchy) {
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    Vertex leaf;
    leaf.holdings = {{0, rank}};
    vertices_.push_back(std::move(leaf));
  }
  parent_.assign(vertices_.size(), -1);
  std::vector<std::int32_t> vertex_of_rank(static_cast<std::size_t>(ranks_));
  for (std::size_t r = 0; r < vertex_of_rank.size(); ++r)
    vertex_of_rank[r] = static_cast<std::int32_t>(r);

  for (std::size_t l = 0; l < hierarchy.levels.size(); ++l) {
    const topo::Level& level = hierarchy.levels[l];
    const auto first = static_cast<std::int32_t>(vertices_.size());
    vertices_.resize(vertices_.size() + static_cast<std::size_t>(level.groups));
    parent_.resize(vertices_.size(), -1);
    for (std::size_t r = 0; r < vertex_of_rank.size(); ++r) {
      const std::int32_t group = first + level.group_of[r];
      const std::int32_t child = vertex_of_rank[r];
      if (parent_[static_cast<std::size_t>(child)] < 0) {
        parent_[static_cast<std::size_t>(child)] = group;
        vertices_[static_cast<std::size_t>(group)].children.push_back(child);
      }
      vertex_of_rank[r] = group;
    }
    for (std::size_t v = static_cast<std::size_t>(first); v < vertices_.size(); ++v) {
      vertices_[v].level = static_cast<int>(l);
      settle_holdings(vertices_[v]);
    }
  }
}

std::vector<AllReduce::Rail> AllReduce::rails_of(const Vertex& vertex) const {
  std::vector<Rail> rails;
  std::vector<std::size_t> position(vertex.children.size(), 0);
  for (Unit begin = 0; begin < sched::whole;) {
    Rail rail;
    Unit end = sched::whole;
    for (std::size_t c = 0; c < vertex.children.size(); ++c) {
      const Holdings& child = vertices_[static_cast<std::size_t>(vertex.children[c])].holdings;
      std::size_t& at = position[c];
      while (at + 1 < child.size() && child[at + 1].begin <= begin)
        ++at;
      rail.ranks.push_back(child[at].rank);
      if (at + 1 < child.size()) end = std::min(end, child[at + 1].begin);
    }
    rail.range = {begin, end};
    rails.push_back(std::move(rail));
    begin = end;
  }
  return rails;
}

void AllReduce::settle_holdings(Vertex& vertex) {
  if (vertex.children.size() == 1) {
    vertex.holdings = vertices_[static_cast<std::size_t>(vertex.children[0])].holdings;
    return;
  }
  const Shape shape = composition_.levels[static_cast<std::size_t>(vertex.level)].shape;
  for (const Rail& rail : rails_of(vertex)) {
    const int parts = shape == Shape::scatter ? static_cast<int>(rail.ranks.size()) : 1;
    for (int part = 0; part < parts; ++part) {
      const Range range = part_of(rail.range, parts, part);
      const std::int32_t rank = rail.ranks[static_cast<std::size_t>(part)];
      if (range.empty()) continue;
      if (vertex.holdings.empty() || vertex.holdings.back().rank != rank)
        vertex.holdings.push_back({range.begin, rank});
    }
  }
}

/// From the leaf's parent to the root; vertices with one child are left out.
std::vector<AllReduce::Stage> AllReduce::stages_of(int rank) const {
  std::vector<Stage> stages;
  for (std::int32_t v = parent_[static_cast<std::size_t>(rank)]; v >= 0; v = parent_[static_cast<std::size_t>(v)]) {
    const Vertex& vertex = vertices_[static_cast<std::size_t>(v)];
    if (vertex.children.size() == 1) continue;
    Stage stage{static_cast<std::size_t>(vertex.level), rails_of(vertex)};
    std::erase_if(stage.rails, [&](const Rail& rail) {
      return std::find(rail.ranks.begin(), rail.ranks.end(), rank) == rail.ranks.end();
    });
    stages.push_back(std::move(stage));
  }
  return stages;
}

// Where all groups are alike, their ranges change hands at the same points: what a rank holds is a rail, shared with
// those that have its place in the other groups.
std::vector<AllReduce::Stage> AllReduce::regular_stages_of(int rank) const {
  std::vector<Stage> stages;
  Range range;
  bool holds = true;
  for (std::size_t level = 0; level < regular_->levels.size(); ++level) {
    Stage stage{level, {}};
    if (holds) stage.rails.push_back({range, regular_->group(rank, level)});
    stages.push_back(std::move(stage));
    const int place = regular_->place(rank, level);
    if (composition_.levels[level].shape == Shape::scatter)
      range = part_of(range, regular_->levels[level].members, place);
    else
      holds = holds && place == 0;
    holds = holds && !range.empty();
  }
  return stages;
}

sched::Program AllReduce::program(int rank) const {
  sched::ProgramBuilder builder(rank, ranks_);
  const std::vector<Stage> stages = regular_ ? regular_stages_of(rank) : stages_of(rank);
  if (stages.empty())
    builder.copy(Range{}, sched::output, sched::input, {});
  else
    climb(builder, stages, sched::input);
  return std::move(builder).finish();
}

// One level up, all that lies above, and the same level down again.
void AllReduce::climb(sched::ProgramBuilder& builder, std::span<const Stage> stages, sched::Place source) const {
  const Stage& stage = stages.front();
  const LevelPlan& plan = composition_.levels[stage.level];
  const auto along_rails = [&](const coll::Form& form, sched::Place place) {
    for (const Rail& rail : stage.rails) {
      const auto self = std::find(rail.ranks.begin(), rail.ranks.end(), builder.rank());
      const coll::Group group{rail.ranks, static_cast<int>(self - rail.ranks.begin())};
      form.generate(builder, group, {rail.range, place, static_cast<std::uint8_t>(stage.level)});
    }
  };
  if (plan.shape == Shape::exchange) {
    along_rails(plan.algorithm->all_reduce, source);
    return;
  }
  const bool scatter = plan.shape == Shape::scatter;
  along_rails(scatter ? plan.algorithm->reduce_scatter : plan.algorithm->reduce, source);
  // A rank that holds nothing more (not the leader) finds itself on no rail further up.
  if (stages.size() > 1) climb(builder, stages.subspan(1), sched::output);
  along_rails(scatter ? plan.algorithm->all_gather : plan.algorithm->broadcast, sched::output);
}

} // namespace strata::hier
