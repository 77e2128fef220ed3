// SPDX-License-Identifier: BSD-3-Clause
// Copies around the caches, and into lines that peers have; for any vector width, included once per instruction set.
#if defined(STRATA_KERNEL_COPY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STRATA_KERNEL_COPY_INL_H
#undef STRATA_KERNEL_COPY_INL_H
#else
#define STRATA_KERNEL_COPY_INL_H
#endif

#include "base/prefetch.h"
#include "kernel/kernel.h"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

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

/// Stores past the caches where the vector fills what Highway streams (16 bytes at least).
template <Store store, class D>
HWY_INLINE void store_vector(hn::Vec<D> v, D d, hn::TFromD<D>* to) {
  if constexpr (store == Store::streaming && hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) >= 16)
    hn::Stream(v, d, to);
  else
    hn::StoreU(v, d, to);
}

inline constexpr std::size_t copied_vectors = 4; ///< at once: what a loop costs is little beside them

template <Store store, class D>
HWY_INLINE void copy_block(D d, std::uint8_t* to, const std::uint8_t* from) {
  const std::size_t lanes = hn::Lanes(d);
  const auto v0 = hn::LoadU(d, from);
  const auto v1 = hn::LoadU(d, from + lanes);
  const auto v2 = hn::LoadU(d, from + 2 * lanes);
  const auto v3 = hn::LoadU(d, from + 3 * lanes);
  store_vector<store>(v0, d, to);
  store_vector<store>(v1, d, to + lanes);
  store_vector<store>(v2, d, to + 2 * lanes);
  store_vector<store>(v3, d, to + 3 * lanes);
}

inline void stream_copy(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t block = copied_vectors * hn::Lanes(d);
  std::size_t i = elements_to_boundary(to, bytes);
  std::memcpy(to, from, i);
  for (; bytes - i >= block; i += block)
    copy_block<Store::streaming>(d, to + i, from + i);
  std::memcpy(to + i, from + i, bytes - i);
  hwy::FlushStream();
}

/// How many bytes ahead of a store its line is asked for (copy_to_shared() tells why), and whether that pays: with
/// vectors of 16 bytes the loop itself costs more.
inline constexpr std::size_t lines_ahead = 6 * cache_line_bytes;
inline constexpr bool pays_to_ask = hn::MaxLanes(hn::ScalableTag<std::uint8_t>()) >= 32;

/// Asks for the lines that are as far ahead of a block.
HWY_INLINE void ask_ahead(const void* block, std::size_t bytes) {
  for (std::size_t line = 0; line < bytes; line += cache_line_bytes)
    prefetch_to_write(static_cast<const char*>(block) + lines_ahead + line);
}

/// A line that a peer has read stays with it until this core has asked for it, which takes as long as to read the
/// peer's: a copy that comes to such lines one by one waits for them. Asked for six lines ahead, an exchange through
/// shared memory takes 9 to 12% less from 8 KiB on between cores of an EPYC of family 25, model 1, that share no cache
/// (5% less of 2 KiB), and 0 to 4% less between cores that do (model 17: 2 to 5% from 4 to 64 KiB).
/// Three lines ahead are too few, and 64 no better. Copies to memory of this core's own gain nothing.
inline void copy_to_shared(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t block = copied_vectors * hn::Lanes(d);
  const bool pays = pays_to_ask && bytes >= least_shared;
  std::size_t i = 0;
  for (; pays && bytes - i >= lines_ahead + block; i += block) {
    ask_ahead(to + i, block);
    copy_block<Store::cached>(d, to + i, from + i);
  }
  std::memcpy(to + i, from + i, bytes - i);
}

/// The CopyFunction.
inline void copy(void* to, const void* from, std::size_t bytes, Store store) {
  if (to == from || bytes == 0) return;
  auto* const bytes_to = static_cast<std::uint8_t*>(to);
  const auto* const bytes_from = static_cast<const std::uint8_t*>(from);
  if (store == Store::streaming)
    stream_copy(bytes_to, bytes_from, bytes);
  else if (store == Store::shared)
    copy_to_shared(bytes_to, bytes_from, bytes);
  else
    std::memcpy(to, from, bytes);
}

inline bool is_at_line(const void* to) { return reinterpret_cast<std::uintptr_t>(to) % cache_line_bytes == 0; }

/// Copies that go on step by step beside something else.
class CopiesInSteps {
public:
  explicit CopiesInSteps(std::span<const Copy> copies) : copies_(copies) {}

  /// The next `bytes` of each that has so many left: always as many, a multiple of a vector's.
  HWY_INLINE void step(std::size_t bytes) {
    for (const Copy& copy : copies_)
      if (copy.bytes - std::min(copy.bytes, done_) >= bytes) step_of(copy, bytes);
    done_ += bytes;
    step_bytes_ = bytes;
  }
  bool is_due() const { return !copies_.empty(); }
  /// All that is left, and the store fence behind copies around the caches.
  void finish() {
    for (const Copy& what : copies_) {
      const bool can_step = what.store != Store::streaming || is_at_line(what.to);
      const std::size_t done =
          step_bytes_ == 0 || !can_step ? 0 : std::min(done_, what.bytes / step_bytes_ * step_bytes_);
      copy(static_cast<std::uint8_t*>(what.to) + done, static_cast<const std::uint8_t*>(what.from) + done,
           what.bytes - done, what.store);
      if (what.store == Store::streaming) hwy::FlushStream(); // of which nothing may have been left
    }
  }

private:
  /// A copy around the caches begins at a line, or nothing is done here.
  HWY_INLINE void step_of(const Copy& copy, std::size_t bytes) {
    auto* const to = static_cast<std::uint8_t*>(copy.to) + done_;
    const auto* const from = static_cast<const std::uint8_t*>(copy.from) + done_;
    if (copy.store == Store::streaming) {
      if (is_at_line(copy.to)) copy_vectors<Store::streaming>(to, from, bytes);
      return;
    }
    if (pays_to_ask && copy.store == Store::shared && copy.bytes - done_ >= bytes + lines_ahead) ask_ahead(to, bytes);
    copy_vectors<Store::cached>(to, from, bytes);
  }
  template <Store store>
  static HWY_INLINE void copy_vectors(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
    const hn::ScalableTag<std::uint8_t> d;
    for (std::size_t i = 0; i < bytes; i += hn::Lanes(d))
      store_vector<store>(hn::LoadU(d, from + i), d, to + i);
  }

  std::span<const Copy> copies_;
  std::size_t done_ = 0, step_bytes_ = 0;
};

} // namespace strata::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
