// SPDX-License-Identifier: BSD-3-Clause
// How the verifier says which step it refuses.
#pragma once

#include "base/result.h"
#include "sched/schedule.h"

#include <string>

namespace strata::verify {

/// "rank 2 step 5 (recv output[0,1/4) = message(1, l0.ag.0)"), a long step cut short.
std::string name_of(const sched::Program& program, sched::StepIndex step);

/// "rank 2 step 5".
std::string short_name_of(const sched::Program& program, sched::StepIndex step);

/// The Error that refuses a schedule because of one step: its name, a colon, the reason.
Error refusal(const sched::Program& program, sched::StepIndex step, const std::string& reason);

} // namespace strata::verify
