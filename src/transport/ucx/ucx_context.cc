// SPDX-License-Identifier: BSD-3-Clause
// UCX tells what devices it has once it has started, and takes the names of those that it may use before it does. So it
// is started twice where some are to be left out, and the first start stays where the second one fails.
#include "transport/ucx/ucx_context.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::transport {
namespace {

Result<UcxContext> started_with(const UcxSettings& settings) {
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  parameters.features = UCP_FEATURE_AM;
  parameters.name = "strata";
  ucp_context_h context = nullptr;
  if (const ucs_status_t status = ucp_init(&parameters, settings.config, &context); status != UCS_OK)
    return ucx_error("start", status);
  UcxContext started(context, ucp_cleanup);
  // UCX starts with shared memory alone as well. A release that prints something else is not to be refused for it.
  if (const auto devices = network_devices(context); !devices || !devices->empty()) return started;
  return Error{ErrorKind::unsupported,
               "UCX has no network device here (UCX_NET_DEVICES and UCX_TLS may exclude those there are)"};
}

std::vector<NetworkDevice> devices_of(ucp_context_h context) {
  std::vector<NetworkDevice> devices;
  for (std::string& name : network_devices(context).value_or(std::vector<std::string>())) {
    const std::uint64_t megabits = megabits_of(name);
    devices.push_back({std::move(name), megabits});
  }
  return devices;
}

Result<UcxContext> started_with_only(const std::vector<std::string>& names, const UcxSettings& settings) {
  const std::string value = fmt::format("{}", fmt::join(names, ","));
  const ucs_status_t status = ucp_config_modify(settings.config, "NET_DEVICES", value.c_str());
  return status == UCS_OK ? started_with(settings) : ucx_error("take names of network devices", status);
}

} // namespace

Result<StartedUcx> start_ucx(const UcxSettings& settings, const NearCards& near) {
  auto all = started_with(settings);
  if (!all) return all.error();
  StartedUcx started{std::move(*all), ""};
  if (!near.wanted) return started;
  const std::vector<NetworkDevice> devices = devices_of(started.context.get());
  const CardChoice choice = choose_cards(settings.net_devices, devices, near);
  auto only = choice.names.empty() ? Result<UcxContext>(Error{ErrorKind::unsupported, choice.why})
                                   : started_with_only(choice.names, settings);
  if (!only) {
    started.note = "lets UCX choose among its network cards: " + only.error().message;
    return started;
  }
  started.context = std::move(*only); // and with it the first one goes
  std::vector<std::string> had;
  for (const NetworkDevice& device : devices)
    had.push_back(device.name);
  started.note =
      fmt::format("sends through {}, nearest to {}, of {}",
                  listed(network_devices(started.context.get()).value_or(choice.names)), near.device, listed(had));
  return started;
}

} // namespace strata::transport
