// SPDX-License-Identifier: BSD-3-Clause
#include "device/vector.h"

#include <algorithm>

namespace strata::device {

Status Vector::look(Driver& driver, const void* begin, std::size_t bytes) {
  pieces_.clear();
  device_ = -1;
  auto* at = const_cast<std::byte*>(static_cast<const std::byte*>(begin));
  while (bytes > 0) {
    const auto memory = driver.memory_of(at);
    if (!memory) return memory.error();
    if (memory->kind == Kind::device && device_ < 0) device_ = memory->device;
    std::size_t piece = bytes;
    // The host's memory has an extent that nobody knows: the rest is the host's as well.
    if (memory->kind != Kind::host && at < memory->base + memory->bytes)
      piece = std::min(bytes, static_cast<std::size_t>(memory->base + memory->bytes - at));
    pieces_.push_back({at, piece});
    at += piece;
    bytes -= piece;
  }
  return ok();
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
    if (const Status copied = copy(piece.begin + offset, done, part); !copied) return copied;
    done += part;
    offset = 0;
  }
  return ok();
}

Status Vector::copy_out(Stream& stream, std::size_t offset, std::size_t bytes, std::byte* to) const {
  return for_each_part(offset, bytes, [&](std::byte* part, std::size_t done, std::size_t part_bytes) {
    return stream.copy(to + done, part, part_bytes);
  });
}

Status Vector::copy_in(Stream& stream, std::size_t offset, std::size_t bytes, const std::byte* from) const {
  return for_each_part(offset, bytes, [&](std::byte* part, std::size_t done, std::size_t part_bytes) {
    return stream.copy(part, from + done, part_bytes);
  });
}

} // namespace strata::device
