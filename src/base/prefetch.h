// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace strata {

/// Asks for memory that will be read a while from now, into a cache that holds more than what is read and written
/// meanwhile. A hint, as below.
inline void prefetch_to_read_later(const char* from, std::size_t bytes) {
  constexpr std::size_t line_bytes = 64;
  for (std::size_t i = 0; i < bytes; i += line_bytes)
    __builtin_prefetch(from + i, 0, 2);
}

/// Asks for a cache line that will be written soon, and takes it from the caches of other cores. A hint: it changes no
/// bit, and no address is wrong.
inline void prefetch_to_write(const void* line) {
#if defined(__x86_64__)
  // __builtin_prefetch makes it of processors that are known to have it only; on the others it does nothing.
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

} // namespace strata
