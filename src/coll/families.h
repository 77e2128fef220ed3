// SPDX-License-Identifier: BSD-3-Clause
// What the families share: their rows, and the words in which a member speaks of its group.
#pragma once

#include "coll/algorithm.h"

#include <bit>

namespace strata::coll {

Algorithm direct();
Algorithm ring();
Algorithm recursive_doubling();
Algorithm recursive_halving();
Algorithm binomial();
Algorithm double_binary_tree();
Algorithm bine();
Algorithm swing();
Algorithm torus();
Algorithm torus3d();
Algorithm recursive_multiplying();
Algorithm recursive_multiplying_8();
Algorithm circulant();

/// The rank of the member at `index`, which may lie up to one group size outside of the group: it wraps around.
inline std::int32_t rank_at(const Group& group, int index) {
  const int size = group.size();
  return group.ranks[static_cast<std::size_t>((index + size) % size)];
}

/// The part of the stage's range that the member at `index` owns; wraps around likewise.
inline sched::Range part_at(const Group& group, const Stage& stage, int index) {
  const int size = group.size();
  return sched::part_of(stage.range, size, (index + size) % size);
}

/// The ranges of `chunks` parts from that of member `first` on: one range, or two if they wrap around.
std::vector<sched::Range> run_of_chunks(const Group& group, const Stage& stage, int first, int chunks);

inline sched::Tag tag(const Stage& stage, sched::Phase phase, int round) {
  return {stage.level, phase, static_cast<std::uint16_t>(round)};
}

/// A group of one: its own contribution is the result.
inline void keep_own(sched::ProgramBuilder& builder, const Stage& stage, sched::Phase phase) {
  if (stage.source != sched::output) builder.copy(stage.range, sched::output, stage.source, tag(stage, phase, 0));
}

/// The forms of a family that scatters and gathers in `rounds(members)` rounds each:
/// `scatter(builder, group, stage, phase)`, `gather(builder, group, stage, phase, first_round)`.
template <auto scatter, auto gather, auto rounds>
struct ScatterAndGather {
  static void reduce_scatter(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
    if (group.size() == 1) return keep_own(builder, stage, sched::reduce_scatter_phase);
    scatter(builder, group, stage, sched::reduce_scatter_phase);
  }
  static void all_gather(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
    gather(builder, group, stage, sched::all_gather_phase, 0);
  }
  static void all_reduce(sched::ProgramBuilder& builder, const Group& group, const Stage& stage) {
    if (group.size() == 1) return keep_own(builder, stage, sched::all_reduce_phase);
    scatter(builder, group, stage, sched::all_reduce_phase);
    gather(builder, group, stage, sched::all_reduce_phase, rounds(group.size()));
  }
};

/// Of a reduce-scatter that is the all-gather backwards: what comes is added to what is there.
inline Cost backwards(Cost gather) {
  gather.reduced = 2 * gather.received;
  return gather;
}

/// One after the other.
inline Cost operator+(const Cost& first, const Cost& then) {
  return {first.rounds + then.rounds,     first.messages + then.messages,
          first.sent + then.sent,         first.published + then.published,
          first.received + then.received, first.reduced + then.reduced,
          first.copied + then.copied,     first.chain_messages + then.chain_messages,
          first.chain + then.chain};
}

/// What a reduce to member 0 and a broadcast from it cost along a tree that halves the members again and again: member
/// 0 has ceil(log2(p)) children, and no member is further from it than floor(log2(p)) messages.
Cost halving_tree_reduce_cost(int members);
Cost halving_tree_broadcast_cost(int members);

/// How an algorithm for powers of two takes any number of members (Thakur, Rabenseifner and Gropp 2005, section 4.5).
/// The first 2 * `pairs` members are folded: members 2i and 2i+1 become virtual member i, for which 2i speaks; every
/// later member m is virtual member m - pairs by itself. Virtual members are in the order of their members.
///
///     members            0 1   2 3   4   5      (6 = 4 + 2: two pairs)
///     virtual members     0     1    2   3
struct Folding {
  int rounds = 0; ///< The virtual members are at least 2^rounds.
  int pairs = 0;

  /// To the largest power of two that fits.
  explicit Folding(int members) : Folding(members, static_cast<int>(std::bit_floor(static_cast<unsigned>(members)))) {}
  /// To `virtual_members`, which are half of the members or more.
  Folding(int members, int virtual_members)
      : rounds(static_cast<int>(std::bit_width(static_cast<unsigned>(virtual_members))) - 1),
        pairs(members - virtual_members), virtual_members_(virtual_members) {}
  int virtual_members() const { return virtual_members_; }
  bool folded(int member) const { return member < 2 * pairs; }
  bool silent(int member) const { return folded(member) && member % 2 == 1; }
  int virtual_of(int member) const { return folded(member) ? member / 2 : member - pairs; }
  /// The member that speaks for `virtual_member`; for one past the last: one past the last member.
  int speaker(int virtual_member) const { return virtual_member < pairs ? 2 * virtual_member : virtual_member + pairs; }

private:
  int virtual_members_;
};

} // namespace strata::coll
