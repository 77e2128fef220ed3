// SPDX-License-Identifier: BSD-3-Clause
// Opens the module of the accelerator that STRATA_DEVICE names.
#pragma once

#include "device/driver.h"

namespace strata::device {

/// The driver of this process. Without one: an error of kind unsupported, which nobody needs to hear of unless asked,
/// or of kind argument when STRATA_DEVICE is none of what is allowed.
Result<std::unique_ptr<Driver>> open_driver(const Options& options);

/// Whether the program has initialised a device by now that STRATA_DEVICE does not say to stay away from; for a process
/// without a driver, which would know more. Looks only.
bool program_uses_device(const Options& options);

} // namespace strata::device
