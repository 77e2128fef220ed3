// SPDX-License-Identifier: BSD-3-Clause
// The JSON texts of the introspection. Their keys are told where programs look, in include/strata/strata_mpi.h.
#pragma once

#include "comm/context.h"

#include <string>

namespace strata::mpi {

/// For describe_context().
std::string describe(const comm::Context& context, const comm::Process& process);

/// For describe_choice().
std::string describe_choice(const comm::Context& context, std::size_t bytes);

/// For describe_pairs(); an empty object when this job has measured nothing.
std::string describe_pairs(const comm::Context& context);

/// For describe_statistics().
std::string describe(const comm::Statistics& statistics);

} // namespace strata::mpi
