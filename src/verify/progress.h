// SPDX-License-Identifier: BSD-3-Clause
// Rule 3 of the verifier: no deadlock, even if every send waits until all of its receivers took the message.
#pragma once

#include "verify/step_graph.h"

namespace strata::verify {

/// Runs all steps under the strictest rule: a send completes only when all receiving steps have completed, and a
/// receiving step takes its messages at once, when all of its dependencies have completed and all sends have started.
/// \return the steps in the order in which sends started and the others completed, or the cycle of steps that wait.
Result<std::vector<StepId>> run_strictly(const StepGraph& graph);

} // namespace strata::verify
