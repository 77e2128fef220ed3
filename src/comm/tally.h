// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace strata::comm {

/// Calls or messages, and bytes, by what ran.
struct Tally {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  Tally& operator+=(const Tally& other) {
    calls += other.calls;
    bytes += other.bytes;
    return *this;
  }
};

} // namespace strata::comm
