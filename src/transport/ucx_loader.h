// SPDX-License-Identifier: BSD-3-Clause
// Opens the module ucx.so and starts its transport, so that the program does not notice.
#pragma once

#include "base/options.h"
#include "transport/transport.h"

namespace strata::transport {

/// The UCX transport of this process, or why there is none. Tens of milliseconds: only for a context that needs it.
Result<std::unique_ptr<Transport>> open_ucx(const Options& options);

} // namespace strata::transport
