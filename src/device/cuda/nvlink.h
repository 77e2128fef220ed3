// SPDX-License-Identifier: BSD-3-Clause
// What NVIDIA's management library, if there is one, knows of a GPU's NVLinks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace strata::device {

/// How many NVLinks of the device at a PCI address are up. None where libnvidia-ml.so.1 is missing or does not say.
std::optional<std::int32_t> active_nvlinks(const std::string& pci_address);

/// What the NVLinks of the device that are up lead to: GPUs, by their PCI addresses ("0000:86:00.0"), or "switch" for
/// NVSwitches. Each once, sorted. Empty also where NVML is missing or does not say.
std::vector<std::string> nvlinked_to(const std::string& pci_address);

} // namespace strata::device
