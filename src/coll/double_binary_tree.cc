// SPDX-License-Identifier: BSD-3-Clause
// Two binary trees (Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// Parallel Computing 35(12), 2009).
//
// A binary tree leaves half of its members, the leaves, with nothing to send downwards. So there are two trees, each
// for one half of the range, and a member that has children in one of them is a leaf in the other. The first is the
// binary search tree over the places 1…p: a place's height is the number of its trailing zero bits, so the odd places
// are leaves. In the second, members take the places backwards if p is even, and shifted by one if p is odd: either way
// even places become odd.
//
//     first tree, p = 6            member    1  2  3  4  5  6    (counted from 1)
//                  4               place     1  2  3  4  5  6    first tree
//              2       6                     6  5  4  3  2  1    second tree
//            1   3   5
//
// Reduce: a member with children reduces what they send with its own contribution in one pass, in the order of the
// places, and sends it on. Broadcast: a member sends what it got to its children; in shared memory that is one write.
// All-reduce: in each tree a reduce to its root, then a broadcast from there.
// Where member 0 is to be the root, the trees are those of the other members and both of their roots are its children.
//
// Cost per member, for S bytes: 2 floor(log2(p)) messages one after the other, and at most 2 S each way, whatever p is.
// Slices follow each other through the trees, so that long vectors take about as long as 2 S on the busiest link, with
// the latency of a tree.
#include "coll/families.h"

#include <algorithm>
#include <optional>

namespace strata::coll {
namespace {

using sched::from;

/// One of the two trees over the members `first` … of a group, as this member sees it. Places count from 1.
class Tree {
public:
  Tree(const Group& group, int first, int which)
      : first_(first), places_(group.size() - first), which_(which), self_(place_of(group.self)) {}

  std::optional<int> parent() const {
    int place = self_;
    do { // over places that there would be if the places were a power of two
      const int height = place & -place;
      place = (place - height) | (2 * height);
      if (height > places_) return {};
    } while (place > places_);
    return member_at(place);
  }
  int root() const { return member_at(static_cast<int>(std::bit_floor(static_cast<unsigned>(places_)))); }
  std::optional<int> lower_child() const {
    const int distance = (self_ & -self_) / 2;
    return distance > 0 ? std::optional(member_at(self_ - distance)) : std::nullopt;
  }
  std::optional<int> upper_child() const {
    int distance = (self_ & -self_) / 2;
    while (self_ + distance > places_)
      distance /= 2;
    return distance > 0 ? std::optional(member_at(self_ + distance)) : std::nullopt;
  }

private:
  int place_of(int member) const { return turned(member - first_ + 1); }
  int member_at(int place) const { return first_ + turned_back(place) - 1; }
  int turned(int place) const {
    if (which_ == 0) return place;
    return places_ % 2 == 0 ? places_ + 1 - place : place % places_ + 1;
  }
  int turned_back(int place) const {
    if (which_ == 0) return place;
    return places_ % 2 == 0 ? places_ + 1 - place : (place + places_ - 2) % places_ + 1;
  }

  int first_, places_, which_, self_;
};

/// The member in one of its trees, for that tree's half of the range.
struct Half {
  sched::ProgramBuilder& builder;
  const Group& group;
  sched::Range range;
  sched::Place source;
  Tree tree;
  int top = -1; ///< The member above the root, or -1.

  std::optional<int> parent() const {
    const std::optional<int> found = tree.parent();
    return found || top < 0 ? found : std::optional(top);
  }

  void up(sched::Tag tag) const {
    std::vector<sched::Operand> operands{from(source)};
    if (const auto child = tree.lower_child()) operands.insert(operands.begin(), from(rank_at(group, *child), tag));
    if (const auto child = tree.upper_child()) operands.push_back(from(rank_at(group, *child), tag));
    const bool leaf = operands.size() == 1;
    if (!leaf) builder.reduce(range, sched::output, std::move(operands), tag);
    if (const auto above = parent()) builder.send(range, leaf ? source : sched::output, {rank_at(group, *above)}, tag);
  }

  void down(sched::Tag tag) const {
    std::vector<std::int32_t> receivers;
    for (const auto& child : {tree.lower_child(), tree.upper_child()})
      if (child) receivers.push_back(rank_at(group, *child));
    if (const auto above = parent()) builder.recv(range, sched::output, rank_at(group, *above), tag);
    builder.send(range, sched::output, std::move(receivers), tag);
  }
};

std::vector<Half> halves(sched::ProgramBuilder& builder, const Group& group, const Stage& stage, int first) {
  std::vector<Half> both;
  for (int which : {0, 1})
    both.push_back(
        {builder, group, part_of(stage.range, 2, which), stage.source, Tree(group, first, which), first - 1});
  return both;
}

void all_reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::all_reduce_phase);
  const std::vector<Half> both = halves(builder, group, stage, 0);
  for (const Half& half : both)
    half.up(tag(stage, sched::all_reduce_phase, 0));
  for (const Half& half : both)
    half.down(tag(stage, sched::all_reduce_phase, 1));
}

void reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return keep_own(builder, stage, sched::reduce_phase);
  const sched::Tag up = tag(stage, sched::reduce_phase, 0);
  for (const Half& half : halves(builder, group, stage, 1))
    if (group.self == 0)
      builder.reduce(half.range, sched::output, {from(stage.source), from(rank_at(group, half.tree.root()), up)}, up);
    else
      half.up(up);
}

void broadcast(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
  if (group.size() == 1) return;
  const sched::Tag down = tag(stage, sched::broadcast_phase, 0);
  for (const Half& half : halves(builder, group, stage, 1))
    if (group.self == 0)
      builder.send(half.range, sched::output, {rank_at(group, half.tree.root())}, down);
    else
      half.down(down);
}

double depth(int places) { return std::bit_width(static_cast<unsigned>(places)) - 1; }

/// The range that passes one after the other on the way up a tree, or down. Below the root, which is the largest power
/// of two, lower places make a whole tree, and the others are a tree like this one. A parent has a half from, or for,
/// each child, one after the other.
double chain_of_tree(int places) {
  if (places < 2) return 0;
  const double whole = depth(places) - 1;
  const int others = places - static_cast<int>(std::bit_floor(static_cast<unsigned>(places)));
  if (others == 0) return whole + 0.5;
  const double rest = chain_of_tree(others);
  return std::max(std::min(whole, rest) + 1, std::max(whole, rest) + 0.5);
}

/// From four members on the busiest has a parent and two children in one tree, and a parent in the other.
Cost all_reduce_cost(int members) {
  if (members == 1) return {};
  const double children = members == 2 ? 1 : 2;
  const double parents = members < 4 ? 0 : 1; // in the tree where it has children
  Cost cost;
  cost.rounds = 2 * depth(members);
  cost.messages = 1 + children + parents;
  cost.sent = cost.received = cost.messages / 2;
  cost.published = (2 + parents) / 2;
  cost.reduced = (1 + children) / 2;
  cost.chain = 2 * chain_of_tree(members);
  cost.chain_messages = depth(members) + cost.chain; // of halves; upwards each child sends for itself
  return cost;
}

/// The busiest member is member 0, which has two halves to reduce or to send; but most send two halves upwards.
Cost reduce_cost(int members) {
  if (members == 1) return {};
  Cost cost;
  cost.rounds = depth(members - 1) + 1;
  cost.messages = 2;
  cost.sent = cost.published = cost.received = 1;
  cost.reduced = 2;
  cost.chain_messages = cost.rounds;
  cost.chain = chain_of_tree(members - 1) + 1; // member 0 has both halves
  return cost;
}

Cost broadcast_cost(int members) {
  Cost cost = reduce_cost(members);
  cost.reduced = 0;
  cost.chain_messages = 2 * cost.chain;
  return cost;
}

} // namespace

Algorithm double_binary_tree() {
  return {"double_binary_tree",
          "Sanders, Speck and Träff, Parallel Computing 35(12), 2009: reduction and broadcast over two trees",
          {},
          {},
          {all_reduce, all_reduce_cost},
          {reduce, reduce_cost},
          {broadcast, broadcast_cost}};
}

} // namespace strata::coll
