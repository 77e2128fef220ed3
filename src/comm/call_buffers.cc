// SPDX-License-Identifier: BSD-3-Clause
#include "comm/call_buffers.h"

namespace strata::comm {

Result<bool> CallBuffers::look(Device& device, const void* input_at, void* output_at, std::size_t bytes) {
  input_begin = static_cast<const std::byte*>(input_at);
  output_begin = static_cast<std::byte*>(output_at);
  if (const Status looked = output.look(device.driver(), output_at, bytes); !looked) return looked.error();
  if (input_at == output_at)
    input = output; // one buffer, one question
  else if (const Status looked = input.look(device.driver(), input_at, bytes); !looked)
    return looked.error();
  if (!on_device()) return false;
  device.note_use(output.on_device() ? output.device() : input.device());
  return true;
}

} // namespace strata::comm
