// SPDX-License-Identifier: BSD-3-Clause
// What a context knows of who passes buffers in device memory: it shows in the calls.
#pragma once

#include <cstdint>

namespace strata::comm {

/// Ranks that have passed a buffer in device memory.
struct DeviceUsers {
  std::int32_t here = 0;     ///< in a call on this communicator
  std::int32_t anywhere = 0; ///< on any
  bool operator==(const DeviceUsers&) const = default;
};

struct DeviceUse {
  bool possible = false;     ///< some rank has a driver for them
  bool seen = false;         ///< this rank has passed one on this communicator
  bool was_asked = false;    ///< all ranks were, at least once
  DeviceUsers users;         ///< when they were asked last
  std::uint32_t changes = 0; ///< of the users, for which all was decided anew
  bool knows_places = false; ///< where the devices lie was asked, once
};

} // namespace strata::comm
