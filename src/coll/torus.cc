// SPDX-License-Identifier: BSD-3-Clause
// Rings along the dimensions of a grid (Mikami et al., "Massively Distributed SGD: ImageNet/ResNet-50 Training in a
// Flash", arXiv 1811.05233, 2018: 2D-torus all-reduce).
//
// The members stand in a grid of two dimensions, as nearly square as their number allows, or of three. All-reduce: a
// ring reduce-scatter along the rows leaves each member the sum of its row for one chunk, a ring all-reduce along the
// columns adds up the rows' sums, and a ring all-gather along the rows spreads them. (Three dimensions: a
// reduce-scatter along each, and all-gathers backwards; the all-reduce along the last is a reduce-scatter and an
// all-gather too.)
//
//     0 1 2      rows: rings 0 1 2 and 3 4 5, chunks of a third
//     3 4 5      columns: rings 0 3, 1 4 and 2 5, chunks of a sixth
//
// Members next to each other in a row have successive numbers, so most bytes go to near ones. As a reduce-scatter or an
// all-gather alone, where member i owns chunk i, the columns come first: then all that a member sends in one step is
// one range.
//
// Cost per member, for S bytes and a grid of a times b: 2 (a-1 + b-1) messages one after the other, instead of the
// ring's 2 (ab-1), and the ring's 2(p-1)/p * S bytes each way; reductions read 2(p-1)/p * S. A prime number of members
// has no grid: it is one row, and that is the ring.
// Operands are ordered by distance along the rings; one member computes each chunk, so all get the same.
#include "coll/families.h"

#include <algorithm>

namespace strata::coll {
namespace {

using sched::from;

/// Lengths of the dimensions, those of length 1 left out: as many as there can be up to `dimensions`, with the fewest
/// steps, the longest first.
std::vector<int> dimensions_of(int members, int dimensions) {
  std::vector<int> best{members};
  if (dimensions == 1) return best;
  const auto steps = [](const std::vector<int>& lengths) {
    int sum = 0;
    for (int length : lengths)
      sum += length - 1;
    return sum;
  };
  for (int length = 2; length * length <= members; ++length) {
    if (members % length != 0) continue;
    std::vector<int> grid = dimensions_of(members / length, dimensions - 1);
    grid.push_back(length);
    if (steps(grid) < steps(best)) best = std::move(grid);
  }
  std::sort(best.rbegin(), best.rend());
  return best;
}

/// The rings of one member, in the order of the reduce-scatter.
class Grid {
public:
  enum class First { rows, columns };

  Grid(sched::ProgramBuilder& builder, const Group& group, const Stage& stage, sched::Phase phase, int dimensions,
       First first)
      : builder_(builder), group_(group), stage_(stage), phase_(phase) {
    int stride = 1;
    for (int length : dimensions_of(group.size(), dimensions)) {
      Ring ring;
      ring.length = length;
      ring.self = group.self / stride % length;
      ring.previous = rank_at(group, group.self + (ring.self == 0 ? length - 1 : -1) * stride);
      ring.next = rank_at(group, group.self + (ring.self == length - 1 ? 1 - length : 1) * stride);
      rings_.push_back(ring);
      stride *= length;
    }
    if (first == First::columns) std::reverse(rings_.begin(), rings_.end());
    int begin = 0, parts = group.size();
    for (Ring& ring : rings_) {
      parts /= ring.length;
      ring.first_part = begin;
      ring.parts = parts;
      begin += ring.self * parts;
    }
  }

  /// Both return the next free round.
  int scatter(int round) const {
    sched::Place sum = stage_.source; // of what inner rings have reduced
    for (const Ring& ring : rings_) {
      for (int step = 0; step <= ring.length - 2; ++step, ++round) {
        const sched::Tag chunk = tag(stage_, phase_, round);
        builder_.send(chunk_of(ring, ring.self - step - 1), step == 0 ? sum : sched::output, {ring.next}, chunk);
        builder_.reduce(chunk_of(ring, ring.self - step - 2), sched::output, {from(ring.previous, chunk), from(sum)},
                        chunk);
      }
      sum = sched::output;
    }
    return round;
  }

  int gather(int round) const {
    for (auto ring = rings_.rbegin(); ring != rings_.rend(); ++ring)
      for (int step = 0; step <= ring->length - 2; ++step, ++round) {
        const sched::Tag chunk = tag(stage_, phase_, round);
        builder_.send(chunk_of(*ring, ring->self - step), sched::output, {ring->next}, chunk);
        builder_.recv(chunk_of(*ring, ring->self - step - 1), sched::output, ring->previous, chunk);
      }
    return round;
  }

private:
  struct Ring {
    int length = 1, self = 0;
    int first_part = 0,
        parts = 0; ///< Of the range's parts, one per member: where chunk 0 begins, and how many each has.
    std::int32_t previous = -1, next = -1;
  };

  sched::Range chunk_of(const Ring& ring, int index) const {
    const int first = ring.first_part + (index + ring.length) % ring.length * ring.parts;
    return {part_at(group_, stage_, first).begin, part_at(group_, stage_, first + ring.parts - 1).end};
  }

  sched::ProgramBuilder& builder_;
  const Group& group_;
  const Stage& stage_;
  sched::Phase phase_;
  std::vector<Ring> rings_;
};

template <int dimensions>
void reduce_scatter(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::reduce_scatter_phase);
  Grid(builder, group, stage, sched::reduce_scatter_phase, dimensions, Grid::First::columns).scatter(0);
}

template <int dimensions>
void all_gather(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  Grid(builder, group, stage, sched::all_gather_phase, dimensions, Grid::First::columns).gather(0);
}

template <int dimensions>
void all_reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::all_reduce_phase);
  const Grid grid(builder, group, stage, sched::all_reduce_phase, dimensions, Grid::First::rows);
  grid.gather(grid.scatter(0));
}

template <int dimensions>
Cost all_gather_cost(int members) {
  if (members == 1) return {};
  Cost cost;
  for (int length : dimensions_of(members, dimensions))
    cost.rounds += length - 1;
  cost.messages = cost.rounds;
  cost.sent = cost.published = cost.received = 1 - 1.0 / members;
  return cost;
}

template <int dimensions>
Cost reduce_scatter_cost(int members) {
  return backwards(all_gather_cost<dimensions>(members));
}

template <int dimensions>
Cost all_reduce_cost(int members) {
  return reduce_scatter_cost<dimensions>(members) + all_gather_cost<dimensions>(members);
}

template <int dimensions>
Algorithm grid(const char* name, const char* source) {
  return {name,
          source,
          {reduce_scatter<dimensions>, reduce_scatter_cost<dimensions>},
          {all_gather<dimensions>, all_gather_cost<dimensions>},
          {all_reduce<dimensions>, all_reduce_cost<dimensions>}};
}

} // namespace

Algorithm torus() { return grid<2>("torus", "Mikami et al., arXiv 1811.05233, 2018: 2D-torus all-reduce"); }

Algorithm torus3d() {
  return grid<3>("torus3d", "Mikami et al., arXiv 1811.05233, 2018: 2D-torus all-reduce, with a third dimension");
}

} // namespace strata::coll
