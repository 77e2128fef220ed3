// SPDX-License-Identifier: BSD-3-Clause
// Starting UCX, with all network devices that it finds or with those that are nearest to the process' device.
#pragma once

#include "transport/network_cards.h"
#include "transport/ucx/ucx_settings.h"

#include <memory>
#include <string>

namespace strata::transport {

using UcxContext = std::unique_ptr<ucp_context, void (*)(ucp_context_h)>;

struct StartedUcx {
  UcxContext context;
  std::string note; ///< as Transport::network_note()
};

/// An Error where UCX does not start, or has no network device.
Result<StartedUcx> start_ucx(const UcxSettings& settings, const NearCards& near);

} // namespace strata::transport
