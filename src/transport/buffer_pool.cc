// SPDX-License-Identifier: BSD-3-Clause
#include "transport/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <new>

namespace strata::transport {

BufferPool::~BufferPool() {
  for (std::vector<Buffer*>& buffers : idle_)
    std::for_each(buffers.begin(), buffers.end(), free);
}

std::size_t BufferPool::size_class(std::size_t bytes) {
  return std::max<std::size_t>(smallest_log2, bytes <= 1 ? 0 : static_cast<std::size_t>(std::bit_width(bytes - 1)));
}

void BufferPool::free(Buffer* buffer) {
  ::operator delete (buffer->bytes, std::align_val_t{alignment});
  delete buffer;
}

BufferPool::Buffer* BufferPool::make(std::size_t room) {
  void* memory = ::operator new (room, std::align_val_t{alignment}, std::nothrow);
  if (memory == nullptr) return nullptr;
  auto* const buffer = new (std::nothrow) Buffer{static_cast<std::byte*>(memory), room};
  if (buffer == nullptr) ::operator delete (memory, std::align_val_t{alignment});
  return buffer;
}

/// As many as there were before, and some at least: how many messages wait at a time is chance, and the next most is
/// not to take memory in a call that was made often before. Without memory, none.
void BufferPool::keep_spares(std::size_t chosen) {
  constexpr std::size_t fewest_spares = 7, most_spare_bytes = std::size_t{256} << 10;
  const std::size_t room = std::size_t{1} << chosen, before = held_[chosen]++;
  const std::size_t spares = std::min(std::max(before, fewest_spares), most_spare_bytes / room);
  try {
    idle_[chosen].reserve(held_[chosen] + spares);
  } catch (const std::bad_alloc&) {
    return;
  }
  for (std::size_t spare = 0; spare < spares && idle_bytes_ + room <= most_idle_bytes_; ++spare) {
    Buffer* const buffer = make(room);
    if (buffer == nullptr) return;
    idle_[chosen].push_back(buffer);
    idle_bytes_ += room;
    ++held_[chosen];
  }
}

BufferPool::Buffer* BufferPool::take(std::size_t bytes) {
  const std::size_t chosen = size_class(bytes);
  if (chosen >= idle_.size() - 1) return nullptr;
  const std::size_t room = std::size_t{1} << chosen;
  Buffer* buffer = nullptr;
  if (!idle_[chosen].empty()) {
    buffer = idle_[chosen].back();
    idle_[chosen].pop_back();
    idle_bytes_ -= room;
  } else {
    buffer = make(room);
    if (buffer == nullptr) return nullptr;
    keep_spares(chosen);
  }
  bytes_in_use_ += room;
  if (bytes_in_use_ + idle_bytes_ > most_bytes())
    most_bytes_.store(bytes_in_use_ + idle_bytes_, std::memory_order_relaxed);
  return buffer;
}

/// A program that has gone over to vectors of another size needs other buffers from now on: those of the size that
/// holds the most give way to `room` more bytes, but not for one of their own size.
void BufferPool::make_way(std::size_t chosen) {
  const std::size_t room = std::size_t{1} << chosen;
  if (room > most_idle_bytes_) return;
  const auto bytes_of = [&](std::size_t size) { return idle_[size].size() << size; };
  while (idle_bytes_ + room > most_idle_bytes_) {
    std::size_t largest = chosen;
    for (std::size_t size = smallest_log2; size < idle_.size(); ++size)
      if (bytes_of(size) > bytes_of(largest)) largest = size;
    if (largest == chosen) return;
    Buffer* const buffer = idle_[largest].back();
    idle_[largest].pop_back();
    idle_bytes_ -= buffer->room;
    --held_[largest];
    free(buffer);
  }
}

void BufferPool::put(Buffer* buffer) {
  const std::size_t chosen = size_class(buffer->room);
  bytes_in_use_ -= buffer->room;
  make_way(chosen);
  if (idle_bytes_ + buffer->room <= most_idle_bytes_) {
    try {
      idle_[chosen].push_back(buffer);
      idle_bytes_ += buffer->room;
      return;
    } catch (const std::bad_alloc&) { // then it is not kept
    }
  }
  --held_[chosen];
  free(buffer);
}

} // namespace strata::transport
