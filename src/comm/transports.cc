// SPDX-License-Identifier: BSD-3-Clause
#include "comm/transports.h"

#include "topo/local_facts.h"
#include "transport/ucx_loader.h"

#include <fmt/format.h>

namespace strata::comm {

transport::NearCards near_cards(const Options& options, Device* device) {
  transport::NearCards near;
  const std::int32_t used = device != nullptr ? device->used() : -1;
  near.wanted = options.device_network == DeviceNetwork::nearest ||
                (options.device_network == DeviceNetwork::automatic && used >= 0);
  if (!near.wanted) return near;
  if (used < 0) {
    near.why_none = "no buffer of this process had been in device memory when UCX started";
    return near;
  }
  const auto facts = device->driver().facts(used);
  auto names = facts ? topo::networks_near(options, facts->pci_address) : facts.error();
  if (facts) near.device = fmt::format("device {} at {}", used, facts->pci_address);
  if (names)
    near.names = std::move(*names);
  else
    near.why_none = names.error().message;
  return near;
}

std::vector<TransportMaker> transports_between_nodes() {
  std::vector<TransportMaker> makers;
  makers.push_back({"ucx", [](const Options& options, Device* device) {
                      return transport::open_ucx(options, near_cards(options, device));
                    }});
  return makers;
}

} // namespace strata::comm
