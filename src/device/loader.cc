// SPDX-License-Identifier: BSD-3-Clause
#include "device/loader.h"

#include "base/module.h"
#include "base/text.h"

#include <fmt/format.h>

namespace strata::device {

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
  const auto symbol = open_module_symbol(options, name.c_str(), "strata_device_v1");
  if (!symbol) return symbol.error();
  std::string why_not;
  std::unique_ptr<Driver> driver(reinterpret_cast<DriverEntry>(*symbol)(&options, &faults, &why_not));
  if (!driver) return Error{ErrorKind::unsupported, why_not};
  return driver;
}

} // namespace strata::device
