// SPDX-License-Identifier: BSD-3-Clause
// Bine, binomial trees and butterflies by base -2 (De Sensi et al., "Bine Trees: Enhancing Collective Operations by
// Optimizing Communication Locality", SC 2025): as many messages as the binomial ones, over about two thirds of the
// distance, because the way goes to and fro around the members' ring.
//
// Reduce and broadcast: the tree of the members of an interval is that of its one half, whose root stays, and that of
// the other half, mirrored, so that both roots lie equally far from where the halves meet. Then the first half is
// itself cut, and grows to the other side:
//
//     -2  -1   0   1   2   3   4   5          the root is member 0; -1 and -2 are the members p-1 and p-2
//               ----------->                  0 sends to 3: mirrored halves -2 … 1 and 2 … 5
//          <----           ---->              0 sends to -1, 3 to 4: -2 -1 | 0 1, and 2 3 | 4 5
//      <--      ---->  <--      ---->         -1 sends to -2, 0 to 1, 3 to 2, 4 to 5
//
// For powers of two that is the paper's distance-halving tree, which it states by the digits of base -2. For other
// numbers the halves differ by one member; that is ours, and has the depth and the root's children of the binomial
// tree. A subtree is an interval, and operands are in the order of the interval: member order, but for where it begins.
//
// Reduce-scatter and all-gather: the butterfly of negabinary.h, with the longest distance first in the reduce-scatter
// (the distance-halving butterfly): what goes to a peer is then always one interval of the ring, so one message, or two
// where it wraps around (or three where the ring is no power of two: see negabinary.h).
// All-reduce: where the members, or all but the last of an odd number, are a power of two, the butterfly with the
// shortest distance first, so that most bytes go to neighbours; members own chunks other than their own, such that what
// goes to a peer is one range (as the paper permutes chunks). For other numbers, reduce-scatter and then all-gather.
//
// Cost: the trees as binomial; the butterflies ceil(log2(p)) rounds and (p-1)/p * S each way, the least possible, for
// any number of members (with p-1 messages of the last of an odd number).
#include "coll/negabinary.h"

#include <algorithm>
#include <utility>

namespace strata::coll {
namespace {

using sched::from;
using Distances = NegabinaryButterfly::Distances;
using Ownership = NegabinaryButterfly::Ownership;

/// How far the root of an interval of `members` is from that end of it where its mirrored half is attached.
int to_the_seam(int members) {
  const int half = (members + 1) / 2;
  return members == 1 ? 0 : half - 1 - to_the_seam(half);
}

/// This member in the tree. Places are distances from member 0, both ways around the ring.
struct Place {
  std::int32_t parent = -1;
  std::vector<std::pair<int, std::int32_t>> children; ///< Place and rank, the largest subtree first.
  int self = 0;                                       ///< This member's place.
};

Place place_in_tree(const Group& group) {
  const int members = group.size();
  const int halvings = static_cast<int>(std::bit_width(static_cast<unsigned>(members - 1)));
  int towards_seam = halvings % 2 == 0 ? 1 : -1; // so that the last half is attached behind the root
  const int ahead = towards_seam == 1 ? to_the_seam(members) : members - 1 - to_the_seam(members);
  const auto rank_of = [&](int place) { return rank_at(group, place); };
  Place found;
  found.self = group.self <= ahead ? group.self : group.self - members;
  int root = 0;
  for (int left = members; left > 1;) {
    const int own_half = (left + 1) / 2, other_half = left - own_half;
    const int other_root = root - towards_seam * (to_the_seam(own_half) + to_the_seam(other_half) + 1);
    if (found.self == root) found.children.emplace_back(other_root, rank_of(other_root));
    if ((root - found.self) * towards_seam > to_the_seam(own_half)) { // in the other half
      found.parent = rank_of(root);
      root = other_root;
      left = other_half;
    } else {
      towards_seam = -towards_seam;
      left = own_half;
    }
  }
  return found;
}

void reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::reduce_phase);
  const sched::Tag up = tag(stage, sched::reduce_phase, 0);
  Place place = place_in_tree(group);
  const bool leaf = place.children.empty();
  if (!leaf) {
    place.children.emplace_back(place.self, builder.rank());
    std::sort(place.children.begin(), place.children.end());
    std::vector<sched::Operand> contributions;
    for (const auto& [at, rank] : place.children)
      contributions.push_back(at == place.self ? from(stage.source) : from(rank, up));
    builder.reduce(stage.range, sched::output, std::move(contributions), up);
  }
  if (group.self != 0) builder.send(stage.range, leaf ? stage.source : sched::output, {place.parent}, up);
}

void broadcast(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return;
  const sched::Tag down = tag(stage, sched::broadcast_phase, 0);
  const Place place = place_in_tree(group);
  std::vector<std::int32_t> receivers;
  for (const auto& [at, rank] : place.children)
    receivers.push_back(rank);
  if (group.self != 0) builder.recv(stage.range, sched::output, place.parent, down);
  builder.send(stage.range, sched::output, std::move(receivers), down);
}

NegabinaryButterfly in_intervals(int members) { return NegabinaryButterfly(members, Distances::shrinking); }

NegabinaryButterfly for_all_reduce(int members) {
  if (!std::has_single_bit(static_cast<unsigned>(members - members % 2))) return in_intervals(members);
  return NegabinaryButterfly(members, Distances::growing, Ownership::for_one_range);
}

using Forms = NegabinaryForms<in_intervals, for_all_reduce>;

} // namespace

Algorithm bine() {
  return {"bine",
          "De Sensi et al., Bine Trees, SC 2025: trees and butterflies",
          Forms::reduce_scatter,
          Forms::all_gather,
          Forms::all_reduce,
          {reduce, halving_tree_reduce_cost},
          {broadcast, halving_tree_broadcast_cost}};
}

} // namespace strata::coll
