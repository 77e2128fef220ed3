// SPDX-License-Identifier: BSD-3-Clause
// Rule 1 of the verifier: every step is well-formed by itself.
#pragma once

#include "verify/verifier.h"

namespace strata::verify {

/// Checks what the later rules take for granted: ranks numbered through, peers, ranges, regions and dependencies that
/// exist, operands that fit the kind of step, no writes to input, and a contract that makes sense.
Status check_form(std::span<const sched::Program> programs, const Contract& contract);

} // namespace strata::verify
