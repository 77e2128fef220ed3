// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace strata {

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
