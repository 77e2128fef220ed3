// SPDX-License-Identifier: BSD-3-Clause
// The static verifier: proves a schedule before it runs, for every timing that the rules of sched/schedule.h allow.
#pragma once

#include "base/result.h"
#include "sched/schedule.h"

#include <span>
#include <vector>

namespace strata::verify {

/// What the ranks must have in the end.
struct Contract {
  enum class Kind {
    all_reduce, ///< Every rank's output, everywhere: one contribution of each rank, the same expression on all ranks.
    reduce_scatter, ///< Rank r's output at `owned[r]`: the same; elsewhere anything. Owners of one part must agree.
    all_gather,     ///< Rank r starts with output defined at `owned[r]`; all end with all of them. No input.
  } kind = Kind::all_reduce;
  std::vector<sched::Range> owned;
};

/// Proves, for the programs of all ranks (programs[r].rank == r):
///  1. well-formed steps: dependencies point backwards, peers exist, ranges lie in the slice, regions exist, input is
///     not written to;
///  2. every message that is sent is received exactly once and the reverse, with equal ranges;
///  3. no deadlock when every send waits for all of its receivers;
///  4. nothing undefined is read, and the contract holds, also when input and output are the same memory;
///  5. any two steps of a rank that touch overlapping ranges of the same memory, one of them writing, are ordered by
///     happens-before (dependencies and messages; a send reads its place until all receivers took the message), with
///     input and output taken as the same memory, and in the order in which the program lists them;
///  6. the expression of a chunk (operand order, association, rounding points) is the same on all ranks, and the same
///     whether or not a rank's call is in place. A reduce of one operand leaves it as it is.
/// The slices of a window do not share input, output or scratch, so one slice stands for all of them (scratch is
/// given to a later slice only after all steps of the earlier one have completed; tests prove windows of up to three
/// with the slice behind them).
/// \return success, or an Error of kind argument that names rank, step and reason.
Status verify(std::span<const sched::Program> programs, const Contract& contract);

} // namespace strata::verify
