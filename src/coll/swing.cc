// SPDX-License-Identifier: BSD-3-Clause
// Swing (De Sensi, Bonato, Saam and Hoefler, "Swing: Short-cutting Rings for Higher Bandwidth Allreduce", NSDI 2024):
// the butterfly of negabinary.h with distances that grow, 1, -1, 3, -5, 11, …, so that most bytes go between neighbours
// on a ring, and the longest way is about a third of the next power of two.
//
//     four members        member 0             member 1             member 2             member 3
//     distance 1          send 1 2 to 1        send 0 3 to 0        send 0 3 to 3        send 1 2 to 2
//     distance -1         send 3 to 3          send 2 to 2          send 1 to 1          send 0 to 0
//     has                 chunk 0              chunk 1              chunk 2              chunk 3
//
// Members own the chunks of their numbers, so what goes to a peer in one step is several ranges, and as many messages:
// fine for few members, and where messages are cheap against their way. (Bine, bine.cc, has one to three a step.)
// All-reduce: a reduce-scatter, then an all-gather.
//
// Any number of members, where the paper's plain case is a power of two: that each chunk leaves a member only once, and
// that an odd member exchanges chunks with all others directly, is as negabinary.h has it.
//
// Cost per member, for S bytes: ceil(log2(p)) rounds and (p-1)/p * S each way in each of the two, which is the least
// possible; the reduction reads 2(p-1)/p * S.
#include "coll/negabinary.h"

namespace strata::coll {
namespace {

NegabinaryButterfly butterfly(int members) {
  return NegabinaryButterfly(members, NegabinaryButterfly::Distances::growing);
}

using Forms = NegabinaryForms<butterfly>;

} // namespace

Algorithm swing() {
  return {"swing", "De Sensi, Bonato, Saam and Hoefler, NSDI 2024: the bandwidth-optimal all-reduce on one dimension",
          Forms::reduce_scatter, Forms::all_gather, Forms::all_reduce};
}

} // namespace strata::coll
