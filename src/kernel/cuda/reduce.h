// SPDX-License-Identifier: BSD-3-Clause
// The n-ary reduction of vectors in device memory, as the work of one thread among many. nvcc makes kernels of it; the
// host's compiler makes a loop over the threads of it, which a test compares with the plain loops bit for bit.
//
// Where all vectors lie alike within 16 bytes, the elements in front of the first boundary and behind the last are
// done one by one, and everything between in packs of 16 bytes:
//
//     head      pack 0      pack 1    …   pack n-1    tail
//     |- - -|-----------|-----------|---|-----------|- -|
//
// Where they do not, a pack is one element: still each byte of a warp's access is used, but there are more accesses.
//
// Threads take packs in turn (thread t of T takes t, t+T, …), several at once, so that many loads of a thread are under
// way. A thread reads the operands of its elements before it writes them, and no thread reads what another writes:
// `out` may be exactly one of the inputs, and no thread waits for another.
#pragma once

#include "kernel/elements.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace strata::kernel::cuda {

inline constexpr std::size_t most_inputs = 16;
inline constexpr unsigned block_threads = 256;
inline constexpr std::size_t pack_bytes = 16;

/// The one argument of every kernel, passed by value.
struct Reduction {
  void* out;
  const void* in[most_inputs];
  std::uint64_t count;  ///< elements
  std::uint32_t inputs; ///< 2 or more
};

/// One thread of a launch.
struct Thread {
  std::uint64_t index;
  std::uint64_t threads;
};

template <class Stored, unsigned lanes>
struct alignas(sizeof(Stored) * lanes) Pack {
  Stored lane[lanes];
};

/// In one access, whatever the compiler makes of the lanes before and after.
template <class Stored, unsigned lanes>
STRATA_EVERYWHERE void store(Pack<Stored, lanes> pack, Stored* to) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof pack == pack_bytes) {
    const auto words = std::bit_cast<uint4>(pack);
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(to)), "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
                 : "memory");
    return;
  }
#endif
  *reinterpret_cast<Pack<Stored, lanes>*>(to) = pack;
}

/// visit(0), visit(1), … written out: what a GPU indexes by a variable lies in memory, not in registers.
template <unsigned count, class Visit>
STRATA_EVERYWHERE void for_each_of(Visit visit) {
  [&]<unsigned... i>(std::integer_sequence<unsigned, i...>) { (visit(i), ...); }
  (std::make_integer_sequence<unsigned, count>());
}

/// How many packs a thread has under way: as many as its registers hold as accumulators.
template <class Format>
inline constexpr unsigned packs_at_once = sizeof(typename Format::Stored) >= 4 ? 4 : sizeof(typename Format::Stored);

/// Reduces `packs` packs that lie `stride` packs apart.
template <class Format, class Op, unsigned lanes, unsigned packs>
STRATA_EVERYWHERE void reduce_packs(const Reduction& reduction, std::size_t first_element, std::size_t stride) {
  using Stored = typename Format::Stored;
  using Accumulator = decltype(Format::widen(Stored{}));
  using Operand = Pack<Stored, lanes>;
  Operand operands[packs];
  Accumulator accumulated[packs * lanes];
  const auto load = [&](std::uint32_t input) {
    const Stored* const from = static_cast<const Stored*>(reduction.in[input]) + first_element;
    for_each_of<packs>([&](unsigned p) { operands[p] = *reinterpret_cast<const Operand*>(from + p * stride * lanes); });
  };
  const auto loaded = [&](unsigned i) { return Format::widen(operands[i / lanes].lane[i % lanes]); };
  load(0);
  for_each_of<packs * lanes>([&](unsigned i) { accumulated[i] = loaded(i); });
#ifdef __CUDACC__
#pragma unroll 1 // more under way than the packs at once would only take registers
#endif
  for (std::uint32_t input = 1; input < reduction.inputs; ++input) {
    load(input);
    for_each_of<packs * lanes>([&](unsigned i) { accumulated[i] = Op::join(accumulated[i], loaded(i)); });
  }
  for_each_of<packs * lanes>([&](unsigned i) { operands[i / lanes].lane[i % lanes] = Format::narrow(accumulated[i]); });
  Stored* const to = static_cast<Stored*>(reduction.out) + first_element;
  for_each_of<packs>([&](unsigned p) { store(operands[p], to + p * stride * lanes); });
}

/// This thread's packs of the `packs` that begin at `first_element`.
template <class Format, class Op, unsigned lanes>
STRATA_EVERYWHERE void reduce_range(const Reduction& reduction, std::size_t first_element, std::size_t packs,
                                    Thread self) {
  constexpr unsigned at_once = packs_at_once<Format>;
  std::size_t pack = self.index;
  for (; pack + (at_once - 1) * self.threads < packs; pack += at_once * self.threads)
    reduce_packs<Format, Op, lanes, at_once>(reduction, first_element + pack * lanes, self.threads);
  for (; pack < packs; pack += self.threads)
    reduce_packs<Format, Op, lanes, 1>(reduction, first_element + pack * lanes, self.threads);
}

/// Whether all vectors lie alike within 16 bytes.
STRATA_EVERYWHERE inline bool lie_alike(const Reduction& reduction) {
  const auto place = [](const void* vector) { return reinterpret_cast<std::uintptr_t>(vector) % pack_bytes; };
  bool alike = true;
  for (std::uint32_t input = 0; input < reduction.inputs; ++input)
    alike = alike && place(reduction.in[input]) == place(reduction.out);
  return alike;
}

template <class Format, class Op>
STRATA_EVERYWHERE void reduce_part(const Reduction& reduction, Thread self) {
  using Stored = typename Format::Stored;
  constexpr unsigned lanes = pack_bytes / sizeof(Stored);
  if (!lie_alike(reduction)) return reduce_range<Format, Op, 1>(reduction, 0, reduction.count, self);
  const std::size_t to_boundary = (0 - reinterpret_cast<std::uintptr_t>(reduction.out)) % pack_bytes / sizeof(Stored);
  const std::size_t head = to_boundary < reduction.count ? to_boundary : reduction.count;
  const std::size_t packs = (reduction.count - head) / lanes;
  reduce_range<Format, Op, lanes>(reduction, head, packs, self);
  // Fewer than 2 * lanes: the first threads of the grid have them.
  const std::size_t rest = reduction.count - packs * lanes;
  for (std::size_t i = self.index; i < rest; i += self.threads)
    reduce_packs<Format, Op, 1, 1>(reduction, i < head ? i : i + packs * lanes, 1);
}

} // namespace strata::kernel::cuda
