// SPDX-License-Identifier: BSD-3-Clause
// What a reduction does to one pair of elements, in the words of kernel.h: for the plain loops here and for the kernels
// that run on a GPU, which therefore give the same bits.
//
// A Format says how an element is stored, and in what it is accumulated: widen, then join, then narrow once. An
// operation is a join. No expression multiplies and then adds, so contraction to fused operations changes no bit.
#pragma once

#include "kernel/half.h"

#include <bit>
#include <cstdint>
#include <type_traits>

#ifdef __FAST_MATH__
#error "the kernels keep NaNs, signed zeros and the order of operands: compile without -ffast-math"
#endif

namespace strata::kernel::elements {

// ---- formats ----------------------------------------------------------------------------------------------------

template <class T>
struct Plain {
  using Stored = T;
  STRATA_EVERYWHERE static T widen(T value) { return value; }
  STRATA_EVERYWHERE static T narrow(T value) { return value; }
};

struct Float16 {
  using Stored = std::uint16_t;
  STRATA_EVERYWHERE static float widen(Stored value) { return float_of_float16(value); }
  STRATA_EVERYWHERE static Stored narrow(float value) { return float16_of_float(value); }
};

struct Bfloat16 {
  using Stored = std::uint16_t;
  STRATA_EVERYWHERE static float widen(Stored value) { return float_of_bfloat16(value); }
  STRATA_EVERYWHERE static Stored narrow(float value) { return bfloat16_of_float(value); }
};

// ---- NaNs -------------------------------------------------------------------------------------------------------

STRATA_EVERYWHERE inline float quiet(float nan) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nan) | 0x00400000u);
}
STRATA_EVERYWHERE inline double quiet(double nan) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) | 0x0008000000000000u);
}
STRATA_EVERYWHERE inline float invalid(float) { return std::bit_cast<float>(0xffc00000u); }
STRATA_EVERYWHERE inline double invalid(double) { return std::bit_cast<double>(0xfff8000000000000u); }

/// `result` of a and b, but a NaN by the rule of kernel.h: processors and compilers differ in which one they keep.
template <class T>
STRATA_EVERYWHERE T with_ordered_nan(T a, T b, T result) {
  const T nan = a != a ? quiet(a) : b != b ? quiet(b) : invalid(result);
  return result == result ? result : nan;
}

// ---- operations -------------------------------------------------------------------------------------------------

/// Unsigned and not narrower than int: overflow wraps, also where the integer promotions would make it signed.
template <class T>
using Wrapping = std::common_type_t<unsigned, std::make_unsigned_t<T>>;

struct Sum {
  template <class T>
  STRATA_EVERYWHERE static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return with_ordered_nan(a, b, a + b);
    else
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};

struct Product {
  template <class T>
  STRATA_EVERYWHERE static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return with_ordered_nan(a, b, a * b);
    else
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};

struct Minimum {
  template <class T>
  STRATA_EVERYWHERE static T join(T a, T b) {
    return a < b ? a : b;
  }
};

struct Maximum {
  template <class T>
  STRATA_EVERYWHERE static T join(T a, T b) {
    return a > b ? a : b;
  }
};

struct LogicalAnd {
  template <class T>
  STRATA_EVERYWHERE static T join(T a, T b) {
    return static_cast<T>(a != 0 && b != 0);
  }
};

struct LogicalOr {
  template <class T>
  STRATA_EVERYWHERE static T join(T a, T b) {
    return static_cast<T>(a != 0 || b != 0);
  }
};

struct LogicalXor {
  template <class T>
  STRATA_EVERYWHERE static T join(T a, T b) {
    return static_cast<T>((a != 0) != (b != 0));
  }
};

struct BitwiseAnd {
  template <class T>
  STRATA_EVERYWHERE static T join(T a, T b) {
    return static_cast<T>(a & b);
  }
};

struct BitwiseOr {
  template <class T>
  STRATA_EVERYWHERE static T join(T a, T b) {
    return static_cast<T>(a | b);
  }
};

struct BitwiseXor {
  template <class T>
  STRATA_EVERYWHERE static T join(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

} // namespace strata::kernel::elements
