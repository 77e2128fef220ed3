// SPDX-License-Identifier: BSD-3-Clause
// The operations on vectors, for any width; included once per instruction set by the vectorised_*.cc files.
//
// A Format says how elements are stored and in what they are accumulated:
//   converts        whether the two differ
//   load(d, from)   the vector of accumulator lanes at `from`; d is the tag of the stored lanes
//   store(d, v)     the vector of stored lanes for accumulator lanes v
// An Operation works on accumulators:
//   enter(v)        applied to every operand, join(a, b) to two entered ones, leave(a) once at the end
//   makes_nan       whether join can meet or make a NaN whose bits depend on the processor: see ordered_join
// No expression here multiplies and then adds, so a compiler that contracts to fused operations changes no bit.

// Included again for each instruction set, hence no #pragma once.
#if defined(STRATA_KERNEL_OPERATIONS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STRATA_KERNEL_OPERATIONS_INL_H
#undef STRATA_KERNEL_OPERATIONS_INL_H
#else
#define STRATA_KERNEL_OPERATIONS_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifdef __FAST_MATH__
#error "the kernels keep NaNs, signed zeros and the order of operands: compile without -ffast-math"
#endif

HWY_BEFORE_NAMESPACE();
namespace strata::kernel::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ---- formats ----------------------------------------------------------------------------------------------------

template <class T>
struct Plain {
  using Stored = T;
  using Tag = hn::ScalableTag<T>;
  static constexpr bool converts = false;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const T* from) {
    return hn::LoadU(d, from);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> store(D, hn::Vec<D> v) {
    return v;
  }
};

/// Both 16-bit formats: stored vectors have as many lanes as a vector of float32.
template <class D>
using Floats = hn::Rebind<float, D>;
template <class D>
using Words = hn::Rebind<std::int32_t, D>;

/// Whether the processor's own conversions are used: on x86 they follow half.h to the bit, NaNs included, and ignore
/// the program's rounding and flush modes. Elsewhere the integers below do.
#undef STRATA_NATIVE_FLOAT16
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
#define STRATA_NATIVE_FLOAT16 1
#else
#define STRATA_NATIVE_FLOAT16 0
#endif

struct Float16 {
  using Stored = std::uint16_t;
  using Tag = hn::Rebind<std::uint16_t, hn::ScalableTag<float>>;
  static constexpr bool converts = true;

#if STRATA_NATIVE_FLOAT16
  template <class D>
  static HWY_INLINE hn::Vec<Floats<D>> load(D, const Stored* from) {
    const hn::Rebind<hwy::float16_t, D> halves;
    return hn::PromoteTo(Floats<D>(), hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(from)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> store(D d, hn::Vec<Floats<D>> v) {
    return hn::BitCast(d, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  }
#else
  // Long enough that a call costs little, and inlined everywhere they would take minutes to compile.
  template <class D>
  static HWY_NOINLINE hn::Vec<Floats<D>> load(D d, const Stored* from) {
    const Words<D> words;
    const Floats<D> floats;
    const auto half = hn::PromoteTo(words, hn::LoadU(d, from));
    const auto magnitude = hn::And(half, hn::Set(words, 0x7fff));
    const auto sign = hn::ShiftLeft<16>(hn::Xor(half, magnitude));
    const auto shifted = hn::ShiftLeft<13>(magnitude);
    const auto normal = hn::Add(shifted, hn::Set(words, 112 << 23));
    // Infinity and NaN: the exponent goes up by another 112; a NaN becomes quiet.
    const auto special = hn::Add(normal, hn::Set(words, 112 << 23));
    const auto quiet = hn::Or(special, hn::Set(words, 0x00400000));
    // Subnormal: with the exponent of 2^-14 in front it is 2^-14 + value, both normal, and the difference is exact.
    const auto one = hn::Set(words, 113 << 23);
    const auto subnormal =
        hn::BitCast(words, hn::Sub(hn::BitCast(floats, hn::Add(shifted, one)), hn::BitCast(floats, one)));
    auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(words, 0x0400)), subnormal, normal);
    bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, 0x7bff)), special, bits);
    bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, 0x7c00)), quiet, bits);
    return hn::BitCast(floats, hn::Or(bits, sign));
  }
  template <class D>
  static HWY_NOINLINE hn::Vec<D> store(D d, hn::Vec<Floats<D>> v) {
    const Words<D> words;
    const Floats<D> floats;
    const auto bits = hn::BitCast(words, v);
    const auto magnitude = hn::And(bits, hn::Set(words, 0x7fffffff));
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 0x8000));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(words, 1));
    const auto rounded = hn::Add(hn::Add(hn::Sub(magnitude, hn::Set(words, 112 << 23)), odd), hn::Set(words, 0xfff));
    const auto normal = hn::ShiftRight<13>(rounded);
    // Below 2^-14: adding 1/2 leaves multiples of 2^-24 in the fraction, rounded by the addition.
    const auto bias = hn::Set(words, 126 << 23);
    const auto subnormal =
        hn::Sub(hn::BitCast(words, hn::Add(hn::BitCast(floats, magnitude), hn::BitCast(floats, bias))), bias);
    const auto quiet = hn::Or(hn::And(hn::ShiftRight<13>(magnitude), hn::Set(words, 0x3ff)), hn::Set(words, 0x7e00));
    auto half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(words, 0x38800000)), subnormal, normal);
    half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, 0x477fefff)), hn::Set(words, 0x7c00), half);
    half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, 0x7f800000)), quiet, half);
    return hn::DemoteTo(d, hn::Or(half, sign)); // below 2^16: nothing saturates
  }
#endif
};

struct Bfloat16 {
  using Stored = std::uint16_t;
  using Tag = hn::Rebind<std::uint16_t, hn::ScalableTag<float>>;
  static constexpr bool converts = true;

  template <class D>
  static HWY_INLINE hn::Vec<Floats<D>> load(D d, const Stored* from) {
    return hn::BitCast(Floats<D>(), hn::ShiftLeft<16>(hn::PromoteTo(Words<D>(), hn::LoadU(d, from))));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> store(D d, hn::Vec<Floats<D>> v) {
    const hn::Rebind<std::uint32_t, D> words;
    const auto bits = hn::BitCast(words, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1u));
    const auto rounded = hn::Add(hn::Add(bits, odd), hn::Set(words, 0x7fffu));
    const auto quiet = hn::Or(bits, hn::Set(words, 0x00400000u));
    const auto nan = hn::RebindMask(words, hn::IsNaN(v));
    const auto half = hn::ShiftRight<16>(hn::IfThenElse(nan, quiet, rounded));
    return hn::DemoteTo(d, hn::BitCast(Words<D>(), half)); // below 2^16: nothing saturates
  }
};

// ---- operations -------------------------------------------------------------------------------------------------

struct Operation {
  static constexpr bool makes_nan = false;
  template <class V>
  static HWY_INLINE V enter(V v) {
    return v;
  }
  template <class V>
  static HWY_INLINE V leave(V v) {
    return v;
  }
};

struct Sum : Operation {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Add(a, b);
  }
};

/// Highway multiplies lanes of 16 and 32 bits everywhere, others only here and there.
struct Product : Operation {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    const hn::DFromV<V> d;
    using T = hn::TFromD<decltype(d)>;
    constexpr bool is_native = sizeof(T) == 2 || sizeof(T) == 4 || std::is_floating_point_v<T>;
    if constexpr (is_native)
      return hn::Mul(a, b);
    else if constexpr (hn::MaxLanes(hn::DFromV<V>()) == 1)
      return hn::Set(d, static_cast<T>(std::uint64_t{hn::GetLane(a)} * hn::GetLane(b)));
    else if constexpr (sizeof(T) == 1)
      return multiply_bytes(d, a, b);
    else
      return multiply_longs(d, a, b);
  }

private:
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V multiply_bytes(D d, V a, V b) {
    const hn::Repartition<std::uint16_t, D> pairs;
    const auto a_pairs = hn::BitCast(pairs, a);
    const auto b_pairs = hn::BitCast(pairs, b);
    const auto even = hn::And(hn::Mul(a_pairs, b_pairs), hn::Set(pairs, std::uint16_t{0xff}));
    const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(a_pairs), hn::ShiftRight<8>(b_pairs)));
    return hn::BitCast(d, hn::Or(even, odd));
  }

  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V multiply_longs([[maybe_unused]] D d, V a, V b) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    return hn::Mul(a, b);
#else
    const hn::Repartition<std::uint32_t, D> words;
    const auto a_low = hn::BitCast(words, a);
    const auto b_low = hn::BitCast(words, b);
    const auto a_high = hn::BitCast(words, hn::ShiftRight<32>(a));
    const auto b_high = hn::BitCast(words, hn::ShiftRight<32>(b));
    const auto cross = hn::Add(hn::MulEven(a_high, b_low), hn::MulEven(a_low, b_high));
    return hn::Add(hn::MulEven(a_low, b_low), hn::ShiftLeft<32>(cross));
#endif
  }
};

struct Minimum : Operation {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    // Highway's Min of floats does with NaN and equal zeros what the processor does; this is the same everywhere.
    if constexpr (std::is_floating_point_v<hn::TFromV<V>>)
      return hn::IfThenElse(hn::Lt(a, b), a, b);
    else
      return hn::Min(a, b);
  }
};

struct Maximum : Operation {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromV<V>>)
      return hn::IfThenElse(hn::Gt(a, b), a, b);
    else
      return hn::Max(a, b);
  }
};

struct FloatSum : Sum {
  static constexpr bool makes_nan = true;
};

struct FloatProduct : Product {
  static constexpr bool makes_nan = true;
};

/// All bits of a lane: whether it is zero.
template <class V>
HWY_INLINE V is_zero(V v) {
  const hn::DFromV<V> d;
  return hn::VecFromMask(d, hn::Eq(v, hn::Zero(d)));
}

/// 1 in the lanes of `v` that are zero, 0 in the others; `v` is zero or all bits.
template <class V>
HWY_INLINE V one_unless(V v) {
  return hn::AndNot(v, hn::Set(hn::DFromV<V>(), hn::TFromV<V>{1}));
}

/// Accumulates whether any operand is zero.
struct LogicalAnd : Operation {
  template <class V>
  static HWY_INLINE V enter(V v) {
    return is_zero(v);
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Or(a, b);
  }
  template <class V>
  static HWY_INLINE V leave(V v) {
    return one_unless(v);
  }
};

/// Accumulates the bits of all operands.
struct LogicalOr : Operation {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Or(a, b);
  }
  template <class V>
  static HWY_INLINE V leave(V v) {
    return one_unless(is_zero(v));
  }
};

/// Accumulates the parity of the operands that are not zero.
struct LogicalXor : Operation {
  template <class V>
  static HWY_INLINE V enter(V v) {
    return one_unless(is_zero(v));
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Xor(a, b);
  }
};

struct BitwiseAnd : Operation {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::And(a, b);
  }
};

struct BitwiseOr : Operation {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Or(a, b);
  }
};

struct BitwiseXor : Operation {
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Xor(a, b);
  }
};

/// join, with the bits of a NaN by the rule of kernel.h. Only run where a result was seen to be a NaN.
template <class Op, class V>
HWY_INLINE V ordered_join(V a, V b) {
  const hn::DFromV<V> d;
  using Bits = hwy::MakeUnsigned<hn::TFromV<V>>;
  const hn::Rebind<Bits, decltype(d)> bits;
  constexpr Bits quiet_bit = sizeof(Bits) == 4 ? Bits{1} << 22 : static_cast<Bits>(std::uint64_t{1} << 51);
  constexpr Bits invalid_bits =
      sizeof(Bits) == 4 ? Bits{0xffc00000u} : static_cast<Bits>(std::uint64_t{0xfff80000u} << 32);
  const auto quiet = hn::BitCast(d, hn::Set(bits, quiet_bit));
  const auto invalid = hn::BitCast(d, hn::Set(bits, invalid_bits));
  V result = Op::join(a, b);
  result = hn::IfThenElse(hn::IsNaN(result), invalid, result);
  result = hn::IfThenElse(hn::IsNaN(b), hn::Or(b, quiet), result);
  return hn::IfThenElse(hn::IsNaN(a), hn::Or(a, quiet), result);
}

} // namespace strata::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
