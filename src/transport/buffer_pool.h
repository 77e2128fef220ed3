// SPDX-License-Identifier: BSD-3-Clause
// Buffers for messages, by powers of two, kept for reuse up to a bound. Not thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

namespace strata::transport {

class BufferPool {
public:
  static constexpr std::size_t alignment = 64;

  struct Buffer {
    std::byte* bytes;
    std::size_t room;
  };

  /// Keeps at most `most_idle_bytes` of buffers that nobody uses.
  explicit BufferPool(std::size_t most_idle_bytes) : most_idle_bytes_(most_idle_bytes) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  /// A buffer with room for at least `bytes`, or null when memory has run out.
  Buffer* take(std::size_t bytes);
  void put(Buffer* buffer);

  /// The most that it has held at a time, in use and kept. Any thread.
  std::size_t most_bytes() const { return most_bytes_.load(std::memory_order_relaxed); }

private:
  static constexpr std::size_t smallest_log2 = 9;
  static std::size_t size_class(std::size_t bytes);
  static Buffer* make(std::size_t room);
  static void free(Buffer* buffer);
  void keep_spares(std::size_t chosen);
  void make_way(std::size_t chosen);

  std::array<std::vector<Buffer*>, 64> idle_;
  std::array<std::size_t, 64> held_{}; ///< by size, in use and kept
  std::size_t most_idle_bytes_;
  std::size_t idle_bytes_ = 0;
  std::size_t bytes_in_use_ = 0;
  std::atomic<std::size_t> most_bytes_{0};
};

} // namespace strata::transport
