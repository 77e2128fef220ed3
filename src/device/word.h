// SPDX-License-Identifier: BSD-3-Clause
// A number in memory through which a stream and the host, or two streams, wait for each other (Stream::set_word,
// Stream::wait_for_word).
#pragma once

#include <atomic>
#include <cstdint>

namespace strata::device {

inline std::uint32_t load_word(const std::uint32_t* word) {
  return std::atomic_ref<std::uint32_t>(*const_cast<std::uint32_t*>(word)).load(std::memory_order_acquire);
}

inline void store_word(std::uint32_t* word, std::uint32_t value) {
  std::atomic_ref<std::uint32_t>(*word).store(value, std::memory_order_release);
}

/// Whether the word has come to `value`, or to one of the 2^31 - 1 behind it.
inline bool has_come_to(const std::uint32_t* word, std::uint32_t value) {
  return static_cast<std::int32_t>(load_word(word) - value) >= 0;
}

} // namespace strata::device
