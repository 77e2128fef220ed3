// SPDX-License-Identifier: BSD-3-Clause
// What the tests of transports between nodes share: messages whose content is known, and waiting that ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace strata::transport {

/// Whether the condition, which makes progress, came true within 20 s.
template <typename Condition>
bool wait_for(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

inline std::vector<unsigned char> pattern(std::size_t bytes, std::size_t seed) {
  std::vector<unsigned char> result(bytes);
  for (std::size_t place = 0; place < bytes; ++place)
    result[place] = static_cast<unsigned char>(place * 7 + place / 251 + seed);
  return result;
}

} // namespace strata::transport
