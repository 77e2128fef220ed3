// SPDX-License-Identifier: BSD-3-Clause
// Copies around the caches, for any vector width; included once per instruction set.
#if defined(STRATA_KERNEL_COPY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STRATA_KERNEL_COPY_INL_H
#undef STRATA_KERNEL_COPY_INL_H
#else
#define STRATA_KERNEL_COPY_INL_H
#endif

#include "kernel/kernel.h"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace strata::kernel::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Highway streams whole aligned vectors; a cache line is what the memory wants, and no vector of x86 or Arm is wider.
inline constexpr std::size_t cache_line_bytes = 64;

/// How many elements `to`, which is aligned to them, is short of the start of a cache line, at most `count`.
template <class T>
HWY_INLINE std::size_t elements_to_boundary(const T* to, std::size_t count) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % cache_line_bytes;
  return past == 0 ? 0 : std::min(count, (cache_line_bytes - past) / sizeof(T));
}

inline void stream_copy(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = elements_to_boundary(to, bytes);
  std::memcpy(to, from, i);
  for (; bytes - i >= 4 * lanes; i += 4 * lanes) {
    const auto v0 = hn::LoadU(d, from + i);
    const auto v1 = hn::LoadU(d, from + i + lanes);
    const auto v2 = hn::LoadU(d, from + i + 2 * lanes);
    const auto v3 = hn::LoadU(d, from + i + 3 * lanes);
    hn::Stream(v0, d, to + i);
    hn::Stream(v1, d, to + i + lanes);
    hn::Stream(v2, d, to + i + 2 * lanes);
    hn::Stream(v3, d, to + i + 3 * lanes);
  }
  std::memcpy(to + i, from + i, bytes - i);
  hwy::FlushStream();
}

/// The CopyFunction.
inline void copy(void* to, const void* from, std::size_t bytes, Store store) {
  if (to == from || bytes == 0) return;
  if (store != Store::streaming) {
    std::memcpy(to, from, bytes);
  } else {
    stream_copy(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes);
  }
}

} // namespace strata::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
