// SPDX-License-Identifier: BSD-3-Clause
// The plain loops: one element at a time, in the words of kernel.h.
#include "kernel/half.h"
#include "kernel/kernel.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __FAST_MATH__
#error "the kernels keep NaNs, signed zeros and the order of operands: compile without -ffast-math"
#endif

namespace strata::kernel {
namespace {

using type::Element;
using type::Operation;

// ---- formats: how an element is stored, and in what it is accumulated -------------------------------------------

template <class T>
struct Plain {
  using Stored = T;
  static T widen(T value) { return value; }
  static T narrow(T value) { return value; }
};

struct Float16 {
  using Stored = std::uint16_t;
  static float widen(Stored value) { return float_of_float16(value); }
  static Stored narrow(float value) { return float16_of_float(value); }
};

struct Bfloat16 {
  using Stored = std::uint16_t;
  static float widen(Stored value) { return float_of_bfloat16(value); }
  static Stored narrow(float value) { return bfloat16_of_float(value); }
};

// ---- operations -------------------------------------------------------------------------------------------------

float quiet(float nan) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nan) | 0x00400000u); }
double quiet(double nan) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) | 0x0008000000000000u); }
float invalid(float) { return std::bit_cast<float>(0xffc00000u); }
double invalid(double) { return std::bit_cast<double>(0xfff8000000000000u); }

/// `result` of a and b, but a NaN by the rule of kernel.h: processors and compilers differ in which one they keep.
template <class T>
T with_ordered_nan(T a, T b, T result) {
  if (!std::isnan(result)) return result;
  if (std::isnan(a)) return quiet(a);
  if (std::isnan(b)) return quiet(b);
  return invalid(result);
}

/// Unsigned and not narrower than int: overflow wraps, also where the integer promotions would make it signed.
template <class T>
using Wrapping = std::common_type_t<unsigned, std::make_unsigned_t<T>>;

struct Sum {
  template <class T>
  static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return with_ordered_nan(a, b, a + b);
    else
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};

struct Product {
  template <class T>
  static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return with_ordered_nan(a, b, a * b);
    else
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};

struct Minimum {
  template <class T>
  static T join(T a, T b) {
    return a < b ? a : b;
  }
};

struct Maximum {
  template <class T>
  static T join(T a, T b) {
    return a > b ? a : b;
  }
};

struct LogicalAnd {
  template <class T>
  static T join(T a, T b) {
    return static_cast<T>(a != 0 && b != 0);
  }
};

struct LogicalOr {
  template <class T>
  static T join(T a, T b) {
    return static_cast<T>(a != 0 || b != 0);
  }
};

struct LogicalXor {
  template <class T>
  static T join(T a, T b) {
    return static_cast<T>((a != 0) != (b != 0));
  }
};

struct BitwiseAnd {
  template <class T>
  static T join(T a, T b) {
    return static_cast<T>(a & b);
  }
};

struct BitwiseOr {
  template <class T>
  static T join(T a, T b) {
    return static_cast<T>(a | b);
  }
};

struct BitwiseXor {
  template <class T>
  static T join(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

// ---- loops ------------------------------------------------------------------------------------------------------

void copy(void* to, const void* from, std::size_t bytes, Store) {
  if (to != from && bytes != 0) std::memcpy(to, from, bytes);
}

template <class Format, class Op>
void reduce(void* out, const void* const* in, std::size_t inputs, std::size_t count, Store store, const void*) {
  using Stored = typename Format::Stored;
  if (inputs == 1) return copy(out, in[0], count * sizeof(Stored), store);
  const auto element = [in](std::size_t input, std::size_t i) {
    return Format::widen(static_cast<const Stored*>(in[input])[i]);
  };
  for (std::size_t i = 0; i < count; ++i) {
    auto accumulated = Op::join(element(0, i), element(1, i));
    for (std::size_t input = 2; input < inputs; ++input)
      accumulated = Op::join(accumulated, element(input, i));
    static_cast<Stored*>(out)[i] = Format::narrow(accumulated);
  }
}

// ---- the table --------------------------------------------------------------------------------------------------

template <class Format, class Op>
void set(Kernels& kernels, Element element, Operation operation) {
  kernels.reduce[static_cast<std::size_t>(element)][static_cast<std::size_t>(operation)] = reduce<Format, Op>;
}

template <class Format>
void set_arithmetic(Kernels& kernels, Element element) {
  set<Format, Sum>(kernels, element, Operation::sum);
  set<Format, Product>(kernels, element, Operation::product);
  set<Format, Minimum>(kernels, element, Operation::minimum);
  set<Format, Maximum>(kernels, element, Operation::maximum);
}

template <class T>
void set_integer(Kernels& kernels, Element element) {
  set_arithmetic<Plain<T>>(kernels, element);
  set<Plain<T>, LogicalAnd>(kernels, element, Operation::logical_and);
  set<Plain<T>, LogicalOr>(kernels, element, Operation::logical_or);
  set<Plain<T>, LogicalXor>(kernels, element, Operation::logical_xor);
  set<Plain<T>, BitwiseAnd>(kernels, element, Operation::bitwise_and);
  set<Plain<T>, BitwiseOr>(kernels, element, Operation::bitwise_or);
  set<Plain<T>, BitwiseXor>(kernels, element, Operation::bitwise_xor);
}

Kernels make_scalar() {
  Kernels kernels{};
  kernels.instruction_set = "scalar";
  kernels.copy = copy;
  set_integer<std::int8_t>(kernels, Element::int8);
  set_integer<std::uint8_t>(kernels, Element::uint8);
  set_integer<std::int16_t>(kernels, Element::int16);
  set_integer<std::uint16_t>(kernels, Element::uint16);
  set_integer<std::int32_t>(kernels, Element::int32);
  set_integer<std::uint32_t>(kernels, Element::uint32);
  set_integer<std::int64_t>(kernels, Element::int64);
  set_integer<std::uint64_t>(kernels, Element::uint64);
  set_arithmetic<Float16>(kernels, Element::float16);
  set_arithmetic<Bfloat16>(kernels, Element::bfloat16);
  set_arithmetic<Plain<float>>(kernels, Element::float32);
  set_arithmetic<Plain<double>>(kernels, Element::float64);
  return kernels;
}

} // namespace

const Kernels& scalar() {
  static const Kernels kernels = make_scalar();
  return kernels;
}

} // namespace strata::kernel
