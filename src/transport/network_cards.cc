// SPDX-License-Identifier: BSD-3-Clause
#include "transport/network_cards.h"

#include "base/quantity.h"
#include "base/text.h"
#include "base/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace strata::transport {
namespace {

/// Every network namespace has one, of this name.
bool is_loopback(const NetworkDevice& device) { return device.name == "lo"; }

bool does_rdma(const NetworkDevice& device) { return device.name.find(':') != std::string::npos; }

bool is_among(const NetworkDevice& device, std::span<const std::string> cards) {
  const std::string_view card = std::string_view(device.name).substr(0, device.name.find(':'));
  return std::find(cards.begin(), cards.end(), card) != cards.end();
}

bool is_slower(const NetworkDevice& one, const NetworkDevice& other) {
  if (does_rdma(one) != does_rdma(other)) return does_rdma(other);
  return one.megabits != 0 && one.megabits < other.megabits;
}

std::vector<std::string> names_of(std::span<const NetworkDevice> devices) {
  std::vector<std::string> names;
  for (const NetworkDevice& device : devices)
    names.push_back(device.name);
  return names;
}

std::string why_none_is_near(std::span<const NetworkDevice> cards, const NearCards& near) {
  if (near.names.empty()) return fmt::format("hwloc knows of no network card of this machine near {}", near.device);
  return fmt::format("nearest to {} is {}, and UCX has {}", near.device, listed(near.names),
                     cards.empty() ? "no card" : listed(names_of(cards)));
}

} // namespace

std::string listed(std::span<const std::string> names) {
  return fmt::format("{}", fmt::join(names.begin(), names.end(), ", "));
}

CardChoice choose_cards(std::string_view set_by_user, std::span<const NetworkDevice> devices, const NearCards& near) {
  if (!set_by_user.empty() && set_by_user != "all")
    return {{}, fmt::format("UCX_NET_DEVICES={} goes before", printable(set_by_user))};
  if (!near.why_none.empty()) return {{}, near.why_none};
  std::vector<NetworkDevice> cards, close, fast;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(cards),
               [](const NetworkDevice& device) { return !is_loopback(device); });
  std::copy_if(cards.begin(), cards.end(), std::back_inserter(close),
               [&](const NetworkDevice& card) { return is_among(card, near.names); });
  if (close.empty()) return {{}, why_none_is_near(cards, near)};
  if (close.size() == cards.size())
    return {{}, fmt::format("it has none but those nearest to {}, {}", near.device, listed(names_of(close)))};
  std::copy_if(close.begin(), close.end(), std::back_inserter(fast), [&](const NetworkDevice& card) {
    return std::none_of(cards.begin(), cards.end(), [&](const NetworkDevice& other) { return is_slower(card, other); });
  });
  if (fast.empty())
    return {{},
            fmt::format("{} is nearest to {}, and slower than others of {}", listed(names_of(close)), near.device,
                        listed(names_of(cards)))};
  return {names_of(fast), ""};
}

std::uint64_t megabits_of(const std::string& device, const std::string& classes) {
  constexpr std::size_t most_bytes = 4096; // a page, as all such files
  const auto colon = device.find(':');
  if (colon == std::string::npos) {
    const auto text = text_of_file(fmt::format("{}/net/{}/speed", classes, device), most_bytes);
    const auto megabits = text ? parse_number(trim(*text)) : std::nullopt; // "10000"; "-1" where it is not known,
    return megabits && *megabits < std::numeric_limits<std::uint32_t>::max() ? *megabits : 0; // or without its sign
  }
  const auto text = text_of_file(
      fmt::format("{}/infiniband/{}/ports/{}/rate", classes, device.substr(0, colon), device.substr(colon + 1)),
      most_bytes);
  if (!text) return 0;
  const auto unit = text->find(" Gb/sec"); // "2.5 Gb/sec (1X SDR)"
  const auto gigabits = factor_from(std::string_view(*text).substr(0, unit));
  return unit != std::string::npos && gigabits ? static_cast<std::uint64_t>(std::llround(*gigabits * 1000)) : 0;
}

} // namespace strata::transport
