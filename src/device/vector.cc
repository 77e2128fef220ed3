// SPDX-License-Identifier: BSD-3-Clause
#include "device/vector.h"

#include <algorithm>

namespace strata::device {

Status Vector::look(Driver& driver, const void* begin, std::size_t bytes) {
  forget();
  auto* at = const_cast<std::byte*>(static_cast<const std::byte*>(begin));
  while (bytes > 0) {
    const auto memory = driver.memory_of(at);
    if (!memory) return memory.error();
    const bool on_device = memory->kind == Kind::device;
    if (on_device && std::find(devices_.begin(), devices_.end(), memory->device) == devices_.end())
      devices_.push_back(memory->device);
    std::size_t piece = bytes;
    // The host's memory has an extent that nobody knows: the rest is the host's as well.
    if (memory->kind != Kind::host && at < memory->base + memory->bytes)
      piece = std::min(bytes, static_cast<std::size_t>(memory->base + memory->bytes - at));
    pieces_.push_back({at, piece, on_device ? memory->device : -1, on_device && !memory->reached_by_all});
    at += piece;
    bytes -= piece;
  }
  return ok();
}

bool Vector::is_in_reach_of(std::int32_t device) const {
  return std::none_of(pieces_.begin(), pieces_.end(),
                      [&](const Piece& piece) { return piece.own_only && piece.device != device; });
}

template <typename Copy>
Status Vector::for_each_part(std::size_t offset, std::size_t bytes, const Copy& copy) const {
  std::size_t done = 0;
  for (const Piece& piece : pieces_) {
    if (offset >= piece.bytes) {
      offset -= piece.bytes;
      continue;
    }
    const std::size_t part = std::min(bytes - done, piece.bytes - offset);
    if (part == 0) break;
    if (const Status copied = copy(piece, piece.begin + offset, done, part); !copied) return copied;
    done += part;
    offset = 0;
  }
  return ok();
}

namespace {

Stream& stream_for(std::span<const StreamOn> streams, std::int32_t device) {
  const auto found =
      std::find_if(streams.begin(), streams.end(), [&](const auto& one) { return one.device == device; });
  return *(found == streams.end() ? streams.front() : *found).stream;
}

} // namespace

Status Vector::copy_out(std::span<const StreamOn> streams, std::size_t offset, std::size_t bytes, std::byte* to) const {
  return for_each_part(offset, bytes,
                       [&](const Piece& piece, std::byte* part, std::size_t done, std::size_t part_bytes) {
                         return stream_for(streams, piece.device).copy(to + done, part, part_bytes);
                       });
}

Status Vector::copy_in(std::span<const StreamOn> streams, std::size_t offset, std::size_t bytes,
                       const std::byte* from) const {
  return for_each_part(offset, bytes,
                       [&](const Piece& piece, std::byte* part, std::size_t done, std::size_t part_bytes) {
                         return stream_for(streams, piece.device).copy(part, from + done, part_bytes);
                       });
}

Result<VectorStreams> VectorStreams::make(Driver& driver, const Vector& vector) {
  VectorStreams made;
  for (const std::int32_t device : vector.devices()) {
    auto stream = driver.make_stream(device);
    if (!stream) return stream.error();
    made.streams_.push_back({device, stream->get()});
    made.owned_.push_back(std::move(*stream));
  }
  return made;
}

Status VectorStreams::fetch(const Vector& vector, std::size_t offset, std::size_t bytes, std::byte* to) {
  return done(vector.copy_out(streams_, offset, bytes, to));
}

Status VectorStreams::deliver(const Vector& vector, std::size_t offset, std::size_t bytes, const std::byte* from) {
  return done(vector.copy_in(streams_, offset, bytes, from));
}

Status VectorStreams::done(Status enqueued) {
  for (const auto& stream : owned_) // also what others failed to take: the caller's memory may be gone soon
    if (Status waited = stream->synchronise(); enqueued && !waited) enqueued = std::move(waited);
  return enqueued;
}

} // namespace strata::device
