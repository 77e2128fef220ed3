// SPDX-License-Identifier: BSD-3-Clause
#include "comm/transports.h"

#include "transport/ucx_loader.h"

namespace strata::comm {

std::vector<TransportMaker> transports_between_nodes() {
  std::vector<TransportMaker> makers;
  makers.push_back({"ucx", [](const Options& options) { return transport::open_ucx(options); }});
  return makers;
}

} // namespace strata::comm
