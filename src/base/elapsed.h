// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

namespace strata {

/// Seconds of the steady clock since then.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace strata
