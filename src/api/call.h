// SPDX-License-Identifier: BSD-3-Clause
// From the arguments of strata_allreduce to a Call.
#pragma once

#include "comm/context.h"
#include "strata/strata.h"

namespace strata::api {

/// Checks the arguments; the error names the one that is not allowed. An empty call has no buffers.
Result<comm::Call> checked_call(const void* send, void* receive, std::size_t count, enum strata_element element,
                                enum strata_operation operation);

} // namespace strata::api
