// SPDX-License-Identifier: BSD-3-Clause
// The butterfly that Swing (De Sensi et al., NSDI 2024) and Bine (De Sensi et al., SC 2025) share.
//
// In step s a member talks to the one at distance rho(s) = 1, -1, 3, -5, 11, …, the sums of the powers of -2: an even
// member forwards, an odd one backwards, around a ring of an even number of members. So an even member always meets an
// odd one, and the largest distance is about a third of the members, where that of recursive doubling is a half:
//
//     ring      0   1   2   3   4   5   6   7        step 0: 0-1, 2-3, 4-5, 6-7
//                                                    step 1: 0-7, 1-2, 3-4, 5-6
//                                                    step 2: 0-3, 2-5, 4-7, 6-1
//
// Reduce-scatter: in each step a member gives away the parts that the other one can still bring to their owners in the
// steps that follow, and keeps those that it can bring there itself. If both can (where the ring is no power of two),
// it keeps them. So each part leaves each member but its owner exactly once, after all that comes to that member for
// it: (p-1)/p * S each way, whatever p is. What a member gives away in a step follows from that by induction from the
// last step backwards; seen from an even member it is the same for all of them, and for odd ones mirrored. Parts
// side by side are one message, if on each side either all of them or none have been reduced before (some have not
// where the ring is no power of two).
// All-gather: the same exchanges backwards.
//
// An odd number of members is a ring of all but the last, who exchanges parts with everybody directly: in the
// reduce-scatter the owners take its contribution together with what the last step brings them.
#pragma once

#include "coll/families.h"

namespace strata::coll {

class NegabinaryButterfly {
public:
  enum class Distances { growing, shrinking }; ///< From one step of the reduce-scatter to the next.
  /// Which part a member owns: its own, or one such that what goes to a peer in one step is one range; that is
  /// possible where the ring is a power of two and distances grow.
  enum class Ownership { own_part, for_one_range };

  NegabinaryButterfly(int members, Distances distances, Ownership ownership = Ownership::own_part);

  void reduce_scatter(sched::ProgramBuilder& builder, const Group& group, const Stage& stage, sched::Phase phase) const;
  /// Rounds are counted from `first_round`.
  void all_gather(sched::ProgramBuilder& builder, const Group& group, const Stage& stage, sched::Phase phase,
                  int first_round) const;
  int steps() const { return steps_; }

  Cost reduce_scatter_cost() const;
  Cost all_gather_cost() const;
  Cost all_reduce_cost() const; ///< One after the other.

private:
  /// The parts `first` … `last`.
  struct Run {
    int first, last;
    sched::Range of(const Group& group, const Stage& stage) const;
  };
  /// The most messages in the ring that a member sends while it scatters, gathers, and in both.
  struct Messages {
    int scatter = 0, gather = 0, both = 0;
  };

  bool has_last() const { return ring_ != members_; } ///< A member outside of the ring.
  int peer(int member, int step) const;
  /// How far a part is from a member.
  int distance_to(int member, int part) const;
  /// Parts at these neighbouring distances leave in one step, and are sums or not yet, on both sides.
  bool go_together(int distance, int next) const;
  int part_of_member(int member) const;
  /// What `member` gives away in a step of the reduce-scatter.
  std::vector<Run> given_away(int member, int step) const;
  /// Whether something came to `member` for a part before a step; until then, its own contribution is at its source.
  bool has_sum(int member, int part, int step) const;
  void reduce_scatter_of_last(sched::ProgramBuilder& builder, const Group& group, const Stage& stage,
                              sched::Tag direct) const;
  Messages messages() const;
  Cost cost(int times, int messages) const;

  int members_, ring_, steps_ = 0;
  Distances distances_;
  Ownership ownership_;
  // Of the parts at some distance from an even member, forwards, and from an odd one backwards:
  std::vector<int> leaves_in_;            ///< By distance: the step in which the part leaves; own part: steps_.
  std::vector<int> arrives_in_;           ///< By distance: the step in which something first comes; if never: steps_.
  std::vector<std::vector<int>> leaving_; ///< By step: the distances that leave.
};

/// The forms over the butterfly that `half` makes for the members, and `whole` for an all-reduce.
template <NegabinaryButterfly (*half)(int), NegabinaryButterfly (*whole)(int) = half>
struct NegabinaryForms {
  static void scatter(sched::ProgramBuilder& builder, const Group& group, const Stage& stage, sched::Phase phase) {
    at(group, phase).reduce_scatter(builder, group, stage, phase);
  }
  static void gather(sched::ProgramBuilder& builder, const Group& group, const Stage& stage, sched::Phase phase,
                     int first_round) {
    if (group.size() > 1) at(group, phase).all_gather(builder, group, stage, phase, first_round);
  }
  static int rounds(int members) { return whole(members).steps(); }
  using Forms = ScatterAndGather<scatter, gather, rounds>;

  static Cost reduce_scatter_cost(int members) { return half(members).reduce_scatter_cost(); }
  static Cost all_gather_cost(int members) { return half(members).all_gather_cost(); }
  static Cost all_reduce_cost(int members) { return whole(members).all_reduce_cost(); }

  static constexpr Form reduce_scatter{Forms::reduce_scatter, reduce_scatter_cost};
  static constexpr Form all_gather{Forms::all_gather, all_gather_cost};
  static constexpr Form all_reduce{Forms::all_reduce, all_reduce_cost};

private:
  static NegabinaryButterfly at(const Group& group, sched::Phase phase) {
    return (phase == sched::all_reduce_phase ? whole : half)(group.size());
  }
};

} // namespace strata::coll
