// SPDX-License-Identifier: BSD-3-Clause
// Rules 4 and 6 of the verifier: what every chunk holds in the end, found by running the schedule on expressions.
//
// One order of the steps stands for all of them, because rule 5 (verify/races.h) has shown that no read can see
// anything but the same write under every timing. One run also stands for calls in place and not in place, in any
// mixture over the ranks: a read of output must find something that the schedule wrote there, and a read of input must
// find output not yet written at that place (or holding that very input), so that both kinds of memory give each step
// the same values.
#pragma once

#include "verify/intervals.h"
#include "verify/step_graph.h"

namespace strata::verify {

/// Runs the steps in `order`, which must be one in which they may happen, and checks the contract at the end.
Status run_symbolically(const StepGraph& graph, const Intervals& intervals, std::span<const StepId> order,
                        const Contract& contract);

} // namespace strata::verify
