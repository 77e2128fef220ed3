// SPDX-License-Identifier: BSD-3-Clause
#include "device/loader.h"

#include "base/module.h"
#include "base/text.h"
#include "device/initialised_cuda.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <unistd.h>

namespace strata::device {
namespace {

/// Whether some program may use CUDA here, now or later: else its module is not opened, which maps some MiB of kernels.
bool cuda_is_possible() {
  // On Windows' Linux the driver has another device.
  if (access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0) return true;
  void* const loaded = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (loaded != nullptr) dlclose(loaded);
  return loaded != nullptr;
}

} // namespace

Result<std::unique_ptr<Driver>> open_driver(const Options& options) {
  const auto colon = options.device.find(':');
  std::string name = options.device.substr(0, colon);
  const std::string faults = colon == std::string::npos ? "" : options.device.substr(colon + 1);
  if (options.device == "off") return Error{ErrorKind::unsupported, "STRATA_DEVICE=off"};
  if (options.device == "auto") name = "cuda";
  if ((name != "cuda" && name != "emulated") || (name == "cuda" && colon != std::string::npos))
    return Error{
        ErrorKind::argument,
        fmt::format("STRATA_DEVICE={} is not allowed (auto, cuda, off, or emulated for tests); all buffers are "
                    "taken for host memory",
                    printable(options.device))};
  if (name == "cuda" && !cuda_is_possible())
    return Error{
        ErrorKind::unsupported,
        "there is no NVIDIA driver: /dev/nvidiactl does not exist, and the process has not loaded libcuda.so.1"};
  const auto symbol = open_module_symbol(options, name.c_str(), "strata_device_v1");
  if (!symbol) return symbol.error();
  std::string why_not;
  std::unique_ptr<Driver> driver(reinterpret_cast<DriverEntry>(*symbol)(&options, &faults, &why_not));
  if (!driver) return Error{ErrorKind::unsupported, why_not};
  return driver;
}

bool program_uses_device(const Options& options) {
  if (options.device == "off" || options.device.starts_with("emulated")) return false;
  void* const libcuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (libcuda == nullptr) return false;
  const bool uses = is_initialised(libcuda);
  dlclose(libcuda);
  return uses;
}

} // namespace strata::device
