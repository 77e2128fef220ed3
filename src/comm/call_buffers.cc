// SPDX-License-Identifier: BSD-3-Clause
#include "comm/call_buffers.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

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

namespace {

/// Where no stream reaches both, through the host.
Status copy_by_pieces(device::Driver& driver, const device::Vector& to, const device::Vector& from, std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 20;
  std::vector<std::byte> passage(std::min(bytes, most));
  auto out = device::VectorStreams::make(driver, from), in = device::VectorStreams::make(driver, to);
  if (!out) return out.error();
  if (!in) return in.error();
  for (std::size_t done = 0, piece = 0; done < bytes; done += piece) {
    piece = std::min(most, bytes - done);
    if (const Status fetched = out->fetch(from, done, piece, passage.data()); !fetched) return fetched;
    if (const Status delivered = in->deliver(to, done, piece, passage.data()); !delivered) return delivered;
  }
  return ok();
}

/// All of one vector, of which some is in device memory, to or from the host's.
template <typename Copy>
Status copy_all(device::Driver& driver, const device::Vector& vector, const Copy& copy) {
  auto streams = device::VectorStreams::make(driver, vector);
  if (!streams) return streams.error();
  return copy(*streams);
}

Status copy_on_device(device::Driver& driver, const CallBuffers& buffers, std::size_t bytes) {
  const std::int32_t device = buffers.output.device();
  const auto stream = driver.make_stream(device);
  if (!stream) return stream.error();
  const device::StreamOn queue{device, stream->get()};
  Status copied = buffers.input.copy_out({&queue, 1}, 0, bytes, buffers.output_begin);
  Status waited = (*stream)->synchronise();
  return copied ? std::move(waited) : std::move(copied);
}

Status copy_beside_device(device::Driver& driver, const CallBuffers& buffers, std::size_t bytes) {
  const device::Vector &from = buffers.input, &to = buffers.output;
  if (!to.on_device())
    return copy_all(driver, from, [&](auto& streams) { return streams.fetch(from, 0, bytes, buffers.output_begin); });
  if (!from.on_device())
    return copy_all(driver, to, [&](auto& streams) { return streams.deliver(to, 0, bytes, buffers.input_begin); });
  if (to.is_one_piece_on_device() && from.is_in_reach_of(to.device())) return copy_on_device(driver, buffers, bytes);
  return copy_by_pieces(driver, to, from, bytes);
}

} // namespace

Status copy_anywhere(Device* device, CallBuffers& buffers, void* to, const void* from, std::size_t bytes) {
  if (device != nullptr && device->in_use()) {
    const auto on_device = buffers.look(*device, from, to, bytes);
    if (!on_device) return on_device.error();
    if (*on_device) return copy_beside_device(device->driver(), buffers, bytes);
  }
  std::memcpy(to, from, bytes);
  return ok();
}

} // namespace strata::comm
