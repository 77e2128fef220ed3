// SPDX-License-Identifier: BSD-3-Clause
// The two buffers of a call, and what memory they are in.
#pragma once

#include "comm/device.h"
#include "device/vector.h"

namespace strata::comm {

struct CallBuffers {
  device::Vector input, output;
  const std::byte* input_begin = nullptr;
  std::byte* output_begin = nullptr; ///< may be the input's

  /// Asks what memory they are in. True: some of it is where the host cannot go.
  Result<bool> look(Device& device, const void* input_at, void* output_at, std::size_t bytes);
  bool on_device() const { return input.on_device() || output.on_device(); }
};

/// Copies from one buffer of any kind to another, to the end; what memory they are in goes to `buffers`, which is kept
/// for the next call. `device` may be null.
Status copy_anywhere(Device* device, CallBuffers& buffers, void* to, const void* from, std::size_t bytes);

} // namespace strata::comm
