// SPDX-License-Identifier: BSD-3-Clause
#include "device/emulated/faults.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::device {
namespace {

constexpr std::uint64_t most_devices = 16;

struct Switch {
  const char* name;
  bool Faults::*member;
};
constexpr Switch switches[] = {{"deny-ipc", &Faults::deny_ipc},
                               {"deny-open", &Faults::deny_open},
                               {"deny-peer", &Faults::deny_peer},
                               {"pools", &Faults::pools},
                               {"fail-allocation", &Faults::fail_allocation},
                               {"fail-pinned", &Faults::fail_pinned},
                               {"fail-streams", &Faults::fail_streams},
                               {"no-words", &Faults::no_words},
                               {"blind-words", &Faults::blind_words},
                               {"refuse-words", &Faults::refuse_words},
                               {"no-kernels", &Faults::no_kernels},
                               {"captures", &Faults::captures},
                               {"too-old", &Faults::too_old},
                               {"hasty", &Faults::hasty}};

/// "0000:3b:00.0"
bool is_pci_address(std::string_view text) {
  constexpr std::string_view form = "xxxx:xx:xx.x";
  return text.size() == form.size() && std::equal(text.begin(), text.end(), form.begin(), [](char c, char wanted) {
           return wanted == 'x' ? (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') : c == wanted;
         });
}

bool set(Faults& faults, std::string_view word) {
  for (const Switch& known : switches)
    if (word == known.name) return faults.*known.member = true;
  const auto equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
  if (name == "pci" && is_pci_address(value)) {
    faults.pci_addresses.emplace_back(value);
    return true;
  }
  if (name == "link") {
    const auto ends = split(value, '-');
    const auto one = parse_number(ends.front()), other = parse_number(ends.back());
    if (ends.size() != 2 || !one || !other || *one >= most_devices || *other >= most_devices) return false;
    faults.links.emplace_back(static_cast<std::int32_t>(*one), static_cast<std::int32_t>(*other));
    return true;
  }
  const auto number = parse_number(value);
  if (!number) return false;
  if (name == "devices" && *number >= 1 && *number <= most_devices) {
    faults.devices = static_cast<std::int32_t>(*number);
    return true;
  }
  if (name != "lost-after") return false;
  faults.lost_after = *number;
  return true;
}

} // namespace

Result<Faults> parse_faults(const std::string& text) {
  Faults faults;
  if (text.empty()) return faults;
  for (const std::string_view word : split(text, ','))
    if (!set(faults, word))
      return argument_error(fmt::format("the emulated device has no fault {} (deny-ipc, deny-open, deny-peer, "
                                        "pools, fail-allocation, fail-pinned, fail-streams, no-words, blind-words, "
                                        "refuse-words, no-kernels, captures, "
                                        "too-old, hasty, devices=1 to 16, pci=0000:3b:00.0, link=0-1, "
                                        "lost-after=COPIES)",
                                        printable(word)));
  return faults;
}

std::string address_of(const Faults& faults, std::int32_t device) {
  const auto index = static_cast<std::size_t>(device);
  return index < faults.pci_addresses.size() ? faults.pci_addresses[index] : fmt::format("ffff:00:{:02x}.0", device);
}

} // namespace strata::device
