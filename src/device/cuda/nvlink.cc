// SPDX-License-Identifier: BSD-3-Clause
// The functions are declared here, as NVML's reference manual has them: its header is no part of every toolkit.
#include "device/cuda/nvlink.h"

#include "device/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include <dlfcn.h>

namespace strata::device {
namespace {

using Handle = void*;
constexpr int success = 0;                             // NVML_SUCCESS
constexpr int enabled = 1;                             // NVML_FEATURE_ENABLED
constexpr unsigned most_nvlinks = 64;                  // NVML_NVLINK_MAX_LINKS was 18 in 2024
enum FarKind { gpu = 0, nvswitch = 2, unknown = 255 }; // nvmlIntNvLinkDeviceType_t; 1 is a processor of IBM's

/// nvmlPciInfo_t
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct Calls {
  int (*start)() = nullptr;
  int (*stop)() = nullptr;
  int (*find)(const char* pci_address, Handle* device) = nullptr;
  int (*link_state)(Handle device, unsigned link, int* state) = nullptr;
  int (*far_end)(Handle device, unsigned link, PciInfo* end) = nullptr;
  int (*far_kind)(Handle device, unsigned link, int* kind) = nullptr; // since CUDA 11.1 or so
};

template <typename Call>
bool find_call(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  return call != nullptr;
}

/// Calls `use` for each link that is up. False: NVML does not say which.
template <typename Use>
bool for_each_link(const std::string& pci_address, const Use& use) {
  const std::unique_ptr<void, int (*)(void*)> library(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL),
                                                      [](void* l) { return l == nullptr ? 0 : dlclose(l); });
  Calls calls;
  if (!library || !find_call(library.get(), "nvmlInit_v2", calls.start) ||
      !find_call(library.get(), "nvmlShutdown", calls.stop) ||
      !find_call(library.get(), "nvmlDeviceGetHandleByPciBusId_v2", calls.find) ||
      !find_call(library.get(), "nvmlDeviceGetNvLinkState", calls.link_state) || calls.start() != success)
    return false;
  static_cast<void>(find_call(library.get(), "nvmlDeviceGetNvLinkRemotePciInfo_v2", calls.far_end));
  static_cast<void>(find_call(library.get(), "nvmlDeviceGetNvLinkRemoteDeviceType", calls.far_kind));
  Handle device = nullptr;
  const bool found = calls.find(pci_address.c_str(), &device) == success;
  for (unsigned link = 0; found && link < most_nvlinks; ++link) {
    int state = 0; // an error: there is no such link
    if (calls.link_state(device, link, &state) == success && state == enabled) use(calls, device, link);
  }
  static_cast<void>(calls.stop());
  return found;
}

/// Empty: it is neither a GPU nor an NVSwitch, or NVML does not say. In a virtual machine NVSwitches are not seen, and
/// the address is of all ones.
std::string far_end_of(const Calls& calls, Handle device, unsigned link) {
  int kind = unknown;
  if (calls.far_kind != nullptr && calls.far_kind(device, link, &kind) != success) kind = unknown;
  if (kind == nvswitch) return switch_of_links;
  PciInfo end{};
  if (kind != gpu && kind != unknown) return "";
  if (calls.far_end == nullptr || calls.far_end(device, link, &end) != success) return "";
  constexpr unsigned ones = 0xff;
  if ((end.bus & ones) == ones && (end.domain & ones) == ones) return switch_of_links;
  if (end.domain == 0 && end.bus == 0 && end.device == 0) return "";
  return fmt::format("{:04x}:{:02x}:{:02x}.0", end.domain, end.bus, end.device);
}

} // namespace

std::optional<std::int32_t> active_nvlinks(const std::string& pci_address) {
  std::int32_t links = 0;
  const bool known = for_each_link(pci_address, [&](const Calls&, Handle, unsigned) { ++links; });
  return known ? std::optional(links) : std::nullopt;
}

std::vector<std::string> nvlinked_to(const std::string& pci_address) {
  std::vector<std::string> ends;
  const auto note_end = [&](const Calls& calls, Handle device, unsigned link) {
    if (std::string end = far_end_of(calls, device, link); !end.empty()) ends.push_back(std::move(end));
  };
  static_cast<void>(for_each_link(pci_address, note_end));
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

} // namespace strata::device
