// SPDX-License-Identifier: BSD-3-Clause
// The entry of the module ucx.so. It is made by the same compiler as the library that opens it, so that C++ objects
// may cross. The caller owns the transport.
#include "base/options.h"
#include "transport/ucx/ucx_transport.h"

extern "C" __attribute__((visibility("default"))) strata::transport::Transport*
strata_transport_v2(const strata::Options* options, const strata::transport::NearCards* near, std::string* why_not);

strata::transport::Transport* strata_transport_v2(const strata::Options*, const strata::transport::NearCards* near,
                                                  std::string* why_not) {
  auto transport = strata::transport::UcxTransport::open(*near);
  if (transport) return transport->release();
  *why_not = transport.error().message;
  return nullptr;
}
