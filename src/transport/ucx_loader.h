// SPDX-License-Identifier: BSD-3-Clause
// Opens the module ucx.so and starts its transport, so that the program does not notice.
#pragma once

#include "base/options.h"
#include "transport/network_cards.h"
#include "transport/transport.h"

namespace strata::transport {

/// The UCX transport of this process, or why there is none; it sends through the cards that are near, if that is wanted
/// and there are any. Tens of milliseconds: only for a context that needs it.
Result<std::unique_ptr<Transport>> open_ucx(const Options& options, const NearCards& near = {});

} // namespace strata::transport
