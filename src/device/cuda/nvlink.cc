// SPDX-License-Identifier: BSD-3-Clause
// The four functions are declared here, as NVML's reference manual has them: its header is no part of every toolkit.
#include "device/cuda/nvlink.h"

#include <memory>

#include <dlfcn.h>

namespace strata::device {
namespace {

using Handle = void*;
constexpr int success = 0;            // NVML_SUCCESS
constexpr int enabled = 1;            // NVML_FEATURE_ENABLED
constexpr unsigned most_nvlinks = 64; // NVML_NVLINK_MAX_LINKS was 18 in 2024

struct Calls {
  int (*start)() = nullptr;
  int (*stop)() = nullptr;
  int (*find)(const char* pci_address, Handle* device) = nullptr;
  int (*link_state)(Handle device, unsigned link, int* state) = nullptr;
};

template <typename Call>
bool find_call(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  return call != nullptr;
}

std::optional<std::int32_t> count(const Calls& calls, const std::string& pci_address) {
  Handle device = nullptr;
  if (calls.find(pci_address.c_str(), &device) != success) return std::nullopt;
  std::int32_t links = 0;
  for (unsigned link = 0; link < most_nvlinks; ++link) {
    int state = 0;
    // The first that there is not ends it: an argument that is not allowed, or a device without any.
    if (calls.link_state(device, link, &state) != success) break;
    if (state == enabled) ++links;
  }
  return links;
}

} // namespace

std::optional<std::int32_t> active_nvlinks(const std::string& pci_address) {
  const std::unique_ptr<void, int (*)(void*)> library(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL),
                                                      [](void* l) { return l == nullptr ? 0 : dlclose(l); });
  Calls calls;
  if (!library || !find_call(library.get(), "nvmlInit_v2", calls.start) ||
      !find_call(library.get(), "nvmlShutdown", calls.stop) ||
      !find_call(library.get(), "nvmlDeviceGetHandleByPciBusId_v2", calls.find) ||
      !find_call(library.get(), "nvmlDeviceGetNvLinkState", calls.link_state) || calls.start() != success)
    return std::nullopt;
  const auto links = count(calls, pci_address);
  static_cast<void>(calls.stop());
  return links;
}

} // namespace strata::device
