// SPDX-License-Identifier: BSD-3-Clause
// Rule 5 of the verifier: steps that touch the same memory, one of them writing, are ordered by happens-before.
//
// A step may touch its memory at any time between its start and its completion (a receive may be posted long before
// the message comes), so "a before b" means: a has completed before b starts. What gives that order, under every
// timing that is allowed:
//
//   completion of a dependency  -> start of the step
//   start of a step             -> its completion
//   start of a send             -> completion of each step that takes the message
//
// There is no edge from a receiver back to the completion of the send: a send may be buffered and complete early, so
// that a step after it says nothing about the receivers. But a send has read its place when all of its receivers have
// completed, whatever became of the send; a writer may also be ordered after it that way.
#pragma once

#include "verify/intervals.h"
#include "verify/step_graph.h"

namespace strata::verify {

/// Checks all ranks. Input and output count as one memory, because a call may be in place. The order must agree with
/// the order in which a program lists the steps, as sched/schedule.h asks.
Status check_races(const StepGraph& graph, const Intervals& intervals);

} // namespace strata::verify
