// SPDX-License-Identifier: BSD-3-Clause
// The n-ary reduction, written once for any format, operation and vector width; included once per instruction set.
//
// The vectors are walked in blocks of four hardware vectors. For each block all inputs are read in order, joined in
// registers, and the result is stored: every input byte is read once and every output byte written once, whatever
// the number of inputs, and a block is read whole before it is written, so `out` may be one of the inputs.
// What is left is done by single vectors, then by vectors of half, a quarter, … the width down to one element.
//
// Streaming stores need aligned vectors and want whole cache lines: elements before the first boundary of `out` and
// after the last block go the ordinary way.
//
// Sums and products of floats are checked for NaN per block, for a few per cent of an L1-resident reduction; a block
// with one is computed again with the operand order of NaNs made explicit.
#if defined(STRATA_KERNEL_REDUCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STRATA_KERNEL_REDUCE_INL_H
#undef STRATA_KERNEL_REDUCE_INL_H
#else
#define STRATA_KERNEL_REDUCE_INL_H
#endif

#include "kernel/copy-inl.h"
#include "kernel/kernel.h"
#include "kernel/operations-inl.h"
#include "type/type.h"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace strata::kernel::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::size_t block_vectors = 4;

/// The operands of one reduction, however many.
template <class Format>
struct AnyInputs {
  const void* const* vectors;
  std::size_t count;

  template <class Op, class D>
  HWY_INLINE auto entered(D d, std::size_t input, std::size_t element) const {
    return Op::enter(Format::load(d, static_cast<const typename Format::Stored*>(vectors[input]) + element));
  }
};

/// A copy of the pointers that no store can change, so that they stay in registers.
template <class Format, std::size_t count>
struct FixedInputs {
  const void* vectors[count];
  explicit HWY_INLINE FixedInputs(const void* const* in) { std::copy_n(in, count, vectors); }

  template <class Op, class D>
  HWY_INLINE auto reduced(D d, std::size_t element) const {
    return joined<Op>(d, element, std::make_index_sequence<count - 1>());
  }

private:
  template <class Op, std::size_t input, class D>
  HWY_INLINE auto entered(D d, std::size_t element) const {
    return Op::enter(Format::load(d, static_cast<const typename Format::Stored*>(vectors[input]) + element));
  }
  template <class Op, class D, std::size_t... before>
  HWY_INLINE auto joined(D d, std::size_t element, std::index_sequence<before...>) const {
    auto accumulated = entered<Op, 0>(d, element);
    ((accumulated = Op::join(accumulated, entered<Op, before + 1>(d, element))), ...);
    return accumulated;
  }
};

template <class V>
HWY_INLINE bool has_nan(V a, V b, V c, V d) {
  const auto ab = hn::Or(hn::IsNaN(a), hn::IsNaN(b));
  const auto cd = hn::Or(hn::IsNaN(c), hn::IsNaN(d));
  return !hn::AllFalse(hn::DFromV<V>(), hn::Or(ab, cd));
}

/// One vector of results at `element`, with NaNs in their stated order.
template <class Format, class Op, class D>
HWY_NOINLINE void reduce_with_nan(D d, typename Format::Stored* out, AnyInputs<Format> in, std::size_t element) {
  auto accumulated = in.template entered<Op>(d, 0, element);
  for (std::size_t input = 1; input < in.count; ++input)
    accumulated = ordered_join<Op>(accumulated, in.template entered<Op>(d, input, element));
  hn::StoreU(Format::store(d, Op::leave(accumulated)), d, out + element);
}

template <class Format, class Op, class D>
HWY_INLINE void reduce_vector(D d, typename Format::Stored* out, AnyInputs<Format> in, std::size_t element) {
  auto accumulated = in.template entered<Op>(d, 0, element);
  for (std::size_t input = 1; input < in.count; ++input)
    accumulated = Op::join(accumulated, in.template entered<Op>(d, input, element));
  if constexpr (Op::makes_nan) {
    if (HWY_UNLIKELY(!hn::AllFalse(hn::DFromV<decltype(accumulated)>(), hn::IsNaN(accumulated))))
      return reduce_with_nan<Format, Op>(d, out, in, element);
  }
  hn::StoreU(Format::store(d, Op::leave(accumulated)), d, out + element);
}

/// Where results are stored a second time: nowhere, through the caches, or around them.
template <class T>
struct Second {
  T* to = nullptr;
  bool around = false;
};

/// Four vectors.
template <class Format, class Op, Store store, class D, class V>
HWY_INLINE void store_vectors(D d, typename Format::Stored* to, V a0, V a1, V a2, V a3) {
  const std::size_t lanes = hn::Lanes(d);
  store_vector<store>(Format::store(d, Op::leave(a0)), d, to);
  store_vector<store>(Format::store(d, Op::leave(a1)), d, to + lanes);
  store_vector<store>(Format::store(d, Op::leave(a2)), d, to + 2 * lanes);
  store_vector<store>(Format::store(d, Op::leave(a3)), d, to + 3 * lanes);
}

/// Stores a block of results at `element`; `in` again for the case that one of them is a NaN.
template <class Format, class Op, Store store, class D, class V>
HWY_INLINE void store_block(D d, typename Format::Stored* out, AnyInputs<Format> in, std::size_t element, V a0, V a1,
                            V a2, V a3, Second<typename Format::Stored> also = {}) {
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (Op::makes_nan) {
    if (HWY_UNLIKELY(has_nan(a0, a1, a2, a3))) {
      for (std::size_t v = 0; v < block_vectors; ++v)
        reduce_with_nan<Format, Op>(d, out, in, element + v * lanes);
      if (also.to != nullptr) std::memcpy(also.to + element, out + element, block_vectors * lanes * sizeof(*out));
      return;
    }
  }
  if (also.to != nullptr) {
    if (also.around)
      store_vectors<Format, Op, Store::streaming>(d, also.to + element, a0, a1, a2, a3);
    else
      store_vectors<Format, Op, Store::cached>(d, also.to + element, a0, a1, a2, a3);
  }
  store_vectors<Format, Op, store>(d, out + element, a0, a1, a2, a3);
}

/// Whole blocks from `begin`; returns where the first incomplete block starts.
template <class Format, class Op, std::size_t count>
HWY_NOINLINE std::size_t reduce_fixed(typename Format::Stored* out, AnyInputs<Format> in, std::size_t begin,
                                      std::size_t end) {
  const typename Format::Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const FixedInputs<Format, count> inputs(in.vectors);
  std::size_t i = begin;
  for (; end - i >= block_vectors * lanes; i += block_vectors * lanes)
    store_block<Format, Op, Store::cached>(
        d, out, in, i, inputs.template reduced<Op>(d, i), inputs.template reduced<Op>(d, i + lanes),
        inputs.template reduced<Op>(d, i + 2 * lanes), inputs.template reduced<Op>(d, i + 3 * lanes));
  return i;
}

/// The same for any number of inputs: an inner loop over them, four accumulators side by side. `copies` go on
/// meanwhile, and what is fetched is as far as the inputs are read. Results that go through the caches then find their
/// lines asked for: whoever has something done beside comes to them for the first time in long.
template <class Format, class Op, Store store>
HWY_NOINLINE std::size_t reduce_any(typename Format::Stored* out, AnyInputs<Format> in, std::size_t begin,
                                    std::size_t end, CopiesInSteps& copies, Second<typename Format::Stored> also,
                                    const char* fetch) {
  const typename Format::Tag d;
  const std::size_t lanes = hn::Lanes(d), block_bytes = block_vectors * lanes * sizeof(*out);
  CopiesInSteps copying = copies; // whose count of bytes no store can change
  const bool asks = store == Store::cached && pays_to_ask && (copying.is_due() || also.to != nullptr);
  const std::size_t elements_ahead = lines_ahead / sizeof(*out);
  std::size_t i = begin;
  for (; end - i >= block_vectors * lanes; i += block_vectors * lanes) {
    if (fetch != nullptr) prefetch_to_read_later(fetch + i * sizeof(*out), block_bytes);
    if (pays_to_ask && end - i >= elements_ahead + block_vectors * lanes) {
      if (asks) ask_ahead(out + i, block_bytes);
      if (also.to != nullptr && !also.around) ask_ahead(also.to + i, block_bytes);
    }
    copying.step(block_bytes);
    auto a0 = in.template entered<Op>(d, 0, i);
    auto a1 = in.template entered<Op>(d, 0, i + lanes);
    auto a2 = in.template entered<Op>(d, 0, i + 2 * lanes);
    auto a3 = in.template entered<Op>(d, 0, i + 3 * lanes);
    for (std::size_t input = 1; input < in.count; ++input) {
      a0 = Op::join(a0, in.template entered<Op>(d, input, i));
      a1 = Op::join(a1, in.template entered<Op>(d, input, i + lanes));
      a2 = Op::join(a2, in.template entered<Op>(d, input, i + 2 * lanes));
      a3 = Op::join(a3, in.template entered<Op>(d, input, i + 3 * lanes));
    }
    store_block<Format, Op, store>(d, out, in, i, a0, a1, a2, a3, also);
  }
  copies = copying;
  return i;
}

/// Fewer elements than a vector of D has lanes.
template <class Format, class Op, class D>
HWY_INLINE void reduce_last(D, typename Format::Stored* out, AnyInputs<Format> in, std::size_t begin, std::size_t end) {
#if HWY_HAVE_SCALABLE
  const hn::CappedTag<typename Format::Stored, 1> one;
  for (; begin < end; ++begin)
    reduce_vector<Format, Op>(one, out, in, begin);
#else
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    if (end - begin >= hn::Lanes(half)) {
      reduce_vector<Format, Op>(half, out, in, begin);
      begin += hn::Lanes(half);
    }
    reduce_last<Format, Op>(half, out, in, begin, end);
  }
#endif
}

template <class Format, class Op>
HWY_NOINLINE void reduce_rest(typename Format::Stored* out, AnyInputs<Format> in, std::size_t begin, std::size_t end) {
  const typename Format::Tag d;
  const std::size_t lanes = hn::Lanes(d);
  for (; end - begin >= lanes; begin += lanes)
    reduce_vector<Format, Op>(d, out, in, begin);
  reduce_last<Format, Op>(d, out, in, begin, end);
}

/// Where memory or conversions are the limit, the loop over the inputs costs nothing, and is all that is compiled.
template <class Format, class Op>
HWY_INLINE std::size_t reduce_blocks(typename Format::Stored* out, AnyInputs<Format> in, std::size_t begin,
                                     std::size_t end, Store store, CopiesInSteps& copies,
                                     Second<typename Format::Stored> also, const char* fetch) {
  if (store == Store::streaming)
    return reduce_any<Format, Op, Store::streaming>(out, in, begin, end, copies, also, fetch);
  if constexpr (!Format::converts) {
    if (copies.is_due() || also.to != nullptr)
      return reduce_any<Format, Op, Store::cached>(out, in, begin, end, copies, also, nullptr);
    if (in.count == 2) return reduce_fixed<Format, Op, 2>(out, in, begin, end);
    if (in.count == 3) return reduce_fixed<Format, Op, 3>(out, in, begin, end);
    if (in.count == 4) return reduce_fixed<Format, Op, 4>(out, in, begin, end);
  }
  return reduce_any<Format, Op, Store::cached>(out, in, begin, end, copies, also, nullptr);
}

/// The ReduceFunction of a format and an operation, where an element is `parts` of what the format stores.
template <class Format, class Op, std::size_t parts>
void reduce(void* out, const void* const* in, std::size_t inputs, std::size_t elements, Store store,
            const Beside* beside) {
  using T = typename Format::Stored;
  const std::size_t count = elements * parts;
  auto* const to = static_cast<T*>(out);
  const Beside nothing;
  if (beside == nullptr) beside = &nothing;
  CopiesInSteps copies(beside->copies);
  Second<T> also{static_cast<T*>(beside->also), beside->also_store == Store::streaming};
  if (inputs == 1) {
    copy(to, in[0], count * sizeof(T), store);
    if (also.to != nullptr) copy(also.to, to, count * sizeof(T), beside->also_store);
    copies.finish();
    return;
  }
  // MPI libraries take buffers that are not aligned to their elements, and from those no cache line begins with one.
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(T) != 0) store = Store::cached;
  const AnyInputs<Format> operands{in, inputs};
  const auto reduce_some = [&](std::size_t begin, std::size_t end) {
    reduce_rest<Format, Op>(to, operands, begin, end);
    if (also.to != nullptr) std::memcpy(also.to + begin, to + begin, (end - begin) * sizeof(T));
  };
  std::size_t done = 0;
  if (store == Store::streaming) {
    done = elements_to_boundary(to, count);
    reduce_some(0, done);
  }
  also.around &= also.to != nullptr && is_at_line(also.to + done);
  const auto* const fetch = static_cast<const char*>(beside->fetch);
  done = reduce_blocks<Format, Op>(to, operands, done, count, store, copies, also, fetch);
  if (store == Store::streaming || also.around) hwy::FlushStream();
  if (done < count) reduce_some(done, count);
  copies.finish();
}

/// Without vectors the plain loops stay in the table: they are the same, and compile once.
inline constexpr bool has_vectors = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;

template <class Format, class Op, std::size_t parts = 1>
void set(Kernels& kernels, type::Element element, type::Operation operation) {
  if constexpr (has_vectors)
    kernels.reduce[static_cast<std::size_t>(element)][static_cast<std::size_t>(operation)] = reduce<Format, Op, parts>;
}

/// Calls set_for(T(), element) for the integers of each width, signed and unsigned, as unsigned T: for operations whose
/// bits do not depend on the sign.
template <class Function>
void for_each_integer(const Function& set_for) {
  using type::Element;
  for (const Element element : {Element::int8, Element::uint8})
    set_for(std::uint8_t(), element);
  for (const Element element : {Element::int16, Element::uint16})
    set_for(std::uint16_t(), element);
  for (const Element element : {Element::int32, Element::uint32})
    set_for(std::uint32_t(), element);
  for (const Element element : {Element::int64, Element::uint64})
    set_for(std::uint64_t(), element);
}

} // namespace strata::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
