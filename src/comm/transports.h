// SPDX-License-Identifier: BSD-3-Clause
// The transports between nodes that need nothing of the program: what a Process without MPI is made with.
#pragma once

#include "comm/process.h"
#include "transport/network_cards.h"

namespace strata::comm {

/// The network cards nearest to the device that this process works with, unless STRATA_DEVICE_NETWORK leaves them to
/// UCX. Some milliseconds then.
transport::NearCards near_cards(const Options& options, Device* device);

/// One row each; none is started before a context asks for it. What else a program can offer (its MPI library) is
/// added by whoever makes the Process.
std::vector<TransportMaker> transports_between_nodes();

} // namespace strata::comm
