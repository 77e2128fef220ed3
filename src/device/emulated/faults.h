// SPDX-License-Identifier: BSD-3-Clause
// How the emulated device is, and what is wrong with it: what follows `emulated:` in STRATA_DEVICE, such as
// `devices=2,deny-ipc,fail-pinned` or `devices=2,pci=0000:3b:00.0,pci=0000:86:00.0,link=0-1`.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace strata::device {

struct Faults {
  std::int32_t devices = 1;
  std::vector<std::string> pci_addresses; ///< of the first ones; the others have such as no machine has
  std::vector<std::pair<std::int32_t, std::int32_t>> links; ///< that join two devices, as NVLinks do; each once
  bool deny_ipc = false;                                    ///< as in a container of its own
  bool deny_open = false;       ///< of what peers could export: they are in other containers
  bool deny_peer = false;       ///< as between GPUs behind different bridges
  bool pools = false;           ///< which the program's memory comes from, so that other devices have no access to it
  bool fail_allocation = false; ///< of device memory of strata's own
  bool fail_pinned = false;     ///< of pinned memory
  bool fail_streams = false;
  bool no_words = false;        ///< streams cannot wait for words in memory
  bool refuse_words = false;    ///< words in memory of other devices, or that was opened from a peer, cannot be set
  bool blind_words = false;     ///< words in memory of other devices, or that was opened from a peer, are set in vain
  bool no_kernels = false;      ///< as where the driver is older than what the kernels were made by
  bool captures = false;        ///< the program's streams are being captured into graphs
  bool too_old = false;         ///< strata cannot work with it
  bool hasty = false;           ///< whoever waits does not: what is not under way by then never runs
  std::uint64_t lost_after = 0; ///< copies, after which the device is lost; 0: never
};

Result<Faults> parse_faults(const std::string& text);

/// On PCI, of one of its devices.
std::string address_of(const Faults& faults, std::int32_t device);

} // namespace strata::device
