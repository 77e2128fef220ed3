// SPDX-License-Identifier: BSD-3-Clause
// The plain loops against what kernel.h says, computed in other ways.
#include "kernel/half.h"
#include "kernel/kernel.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <vector>

namespace strata::kernel {
namespace {

using type::Element;
using type::Operation;

/// op over one element of each input, by the scalar kernels.
template <class T>
T reduce(Element element, Operation operation, std::initializer_list<T> operands) {
  const std::vector<T> values(operands);
  std::vector<const void*> in;
  for (const T& value : values)
    in.push_back(&value);
  T out{};
  scalar().find(element, operation)(&out, in.data(), in.size(), 1, Store::cached, nullptr);
  return out;
}

float reduce_floats(Operation operation, std::initializer_list<float> operands) {
  return reduce<float>(Element::float32, operation, operands);
}

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The value of a binary floating-point format with a sign, `exponent_bits` and `fraction_bits`; not for NaN.
double value_of(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const int exponent = static_cast<int>((bits >> fraction_bits) & ((1u << exponent_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double magnitude = 0;
  if (exponent == (1 << exponent_bits) - 1)
    magnitude = std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, 1 - bias - fraction_bits);
  else
    magnitude = std::ldexp(fraction + (1u << fraction_bits), exponent - bias - fraction_bits);
  return (bits >> (exponent_bits + fraction_bits)) & 1 ? -magnitude : magnitude;
}

/// The nearest value of such a format, ties to even: scale so that its spacing is 1, and round in double.
double nearest(double value, int exponent_bits, int fraction_bits) {
  if (value == 0 || std::isinf(value)) return value;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int spacing = std::max(std::ilogb(value), 1 - bias) - fraction_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -spacing)), spacing);
  return std::abs(rounded) >= std::ldexp(1.0, bias + 1) ? std::copysign(infinity, value) : rounded;
}

/// Floats of every sign and exponent, with fractions around all that rounding to fewer bits can distinguish.
template <class Visit>
void for_floats_around_ties(int fraction_bits, Visit visit) {
  const int dropped = 23 - fraction_bits;
  const std::uint32_t tie = 1u << (dropped - 1);
  for (std::uint32_t kept = 0; kept < 1u << (32 - dropped); ++kept)
    for (const std::uint32_t rest : {0u, 1u, tie - 1, tie, tie + 1, 2 * tie - 1}) {
      const float value = float_of(kept << dropped | rest);
      if (!std::isnan(value)) visit(value);
    }
}

TEST(Half, EveryFloat16HasItsValueAsAFloat) {
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    if ((half & 0x7fff) > 0x7c00) continue;
    const float value = float_of_float16(static_cast<std::uint16_t>(half));
    ASSERT_EQ(value, value_of(half, 5, 10)) << std::hex << half;
    ASSERT_EQ(std::signbit(value), half >> 15 == 1) << std::hex << half;
    ASSERT_EQ(float16_of_float(value), half) << std::hex << half;
  }
}

TEST(Half, EveryBfloat16HasItsValueAsAFloat) {
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    if ((half & 0x7fff) > 0x7f80) continue;
    const float value = float_of_bfloat16(static_cast<std::uint16_t>(half));
    ASSERT_EQ(value, value_of(half, 8, 7)) << std::hex << half;
    ASSERT_EQ(std::signbit(value), half >> 15 == 1) << std::hex << half;
    ASSERT_EQ(bfloat16_of_float(value), half) << std::hex << half;
  }
}

TEST(Half, FloatsRoundToTheNearestFloat16AndTiesToEven) {
  int wrong = 0;
  for_floats_around_ties(10, [&](float value) {
    const std::uint16_t half = float16_of_float(value);
    if (value_of(half, 5, 10) == nearest(value, 5, 10) && half >> 15 == std::signbit(value)) return;
    if (++wrong < 10) ADD_FAILURE() << std::hexfloat << value << " became " << value_of(half, 5, 10);
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Half, SmallFloatsRoundToTheNearestSubnormalFloat16) {
  // Multiples of 2^-32 below 2^-13: eight bits below the spacing of the subnormals, all ties among them.
  for (int multiple = 0; multiple < 1 << 19; ++multiple) {
    const float value = std::ldexp(static_cast<float>(multiple), -32);
    ASSERT_EQ(value_of(float16_of_float(value), 5, 10), nearest(value, 5, 10)) << std::hexfloat << value;
  }
}

TEST(Half, FloatsRoundToTheNearestBfloat16AndTiesToEven) {
  int wrong = 0;
  for_floats_around_ties(7, [&](float value) {
    const std::uint16_t half = bfloat16_of_float(value);
    if (value_of(half, 8, 7) == nearest(value, 8, 7) && half >> 15 == std::signbit(value)) return;
    if (++wrong < 10) ADD_FAILURE() << std::hexfloat << value << " became " << value_of(half, 8, 7);
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Half, NanStaysNanKeepsItsPayloadAndBecomesQuiet) {
  EXPECT_EQ(bits_of(float_of_float16(0x7c01)), 0x7fc02000u);
  EXPECT_EQ(bits_of(float_of_float16(0xfe55)), 0xffcaa000u);
  EXPECT_EQ(float16_of_float(float_of(0x7f800001)), 0x7e00);
  EXPECT_EQ(float16_of_float(float_of(0xffcaa000)), 0xfe55);
  EXPECT_EQ(bfloat16_of_float(float_of(0x7f800001)), 0x7fc0);
  EXPECT_EQ(bfloat16_of_float(float_of(0xff810000)), 0xffc1);
}

TEST(ScalarKernels, AreThereExactlyWhereMpiDefinesTheOperation) {
  for (std::size_t e = 0; e < type::element_kinds; ++e)
    for (std::size_t o = 0; o < type::operation_kinds; ++o) {
      const auto element = static_cast<Element>(e);
      const auto operation = static_cast<Operation>(o);
      EXPECT_EQ(scalar().find(element, operation) != nullptr, type::is_defined(element, operation))
          << name_of(operation) << " of " << name_of(element);
    }
}

TEST(ScalarKernels, JoinFromTheLeft) {
  EXPECT_EQ(reduce_floats(Operation::sum, {1e30f, -1e30f, 1.0f}), 1.0f);
  EXPECT_EQ(reduce_floats(Operation::sum, {1.0f, 1e30f, -1e30f}), 0.0f);
  EXPECT_EQ(reduce_floats(Operation::product, {1e-30f, 1e-30f, 1e30f, 1e30f}), 0.0f);
}

TEST(ScalarKernels, CopyASingleInputBitForBit) {
  EXPECT_EQ(reduce<std::uint16_t>(Element::float16, Operation::sum, {0x7c01}), 0x7c01);
  EXPECT_EQ(reduce<std::uint16_t>(Element::bfloat16, Operation::maximum, {0x7f81}), 0x7f81);
  EXPECT_EQ(reduce<std::int32_t>(Element::int32, Operation::logical_and, {7}), 7);
}

TEST(ScalarKernels, IntegersWrap) {
  EXPECT_EQ(reduce<std::int8_t>(Element::int8, Operation::sum, {127, 1}), -128);
  EXPECT_EQ(reduce<std::uint8_t>(Element::uint8, Operation::product, {16, 17}), 16);
  EXPECT_EQ(reduce<std::int16_t>(Element::int16, Operation::product, {-32768, -1}), -32768);
  EXPECT_EQ(reduce<std::uint16_t>(Element::uint16, Operation::product, {65535, 65535}), 1);
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(reduce<std::int32_t>(Element::int32, Operation::sum, {most, most}), -2);
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(reduce<std::int64_t>(Element::int64, Operation::product, {least, -1}), least);
  EXPECT_EQ(reduce<std::uint64_t>(Element::uint64, Operation::product, {0x100000001u, 0x300000002u}), 0x500000002u);
}

TEST(ScalarKernels, ExtremaHeedTheSign) {
  EXPECT_EQ(reduce<std::int8_t>(Element::int8, Operation::minimum, {1, -1, 0}), -1);
  EXPECT_EQ(reduce<std::uint8_t>(Element::uint8, Operation::minimum, {1, 255, 2}), 1);
  EXPECT_EQ(reduce<std::int64_t>(Element::int64, Operation::maximum, {-5, -3, -4}), -3);
  EXPECT_EQ(reduce<std::uint64_t>(Element::uint64, Operation::maximum, {1, ~std::uint64_t{0}}), ~std::uint64_t{0});
}

TEST(ScalarKernels, LogicalResultsAreZeroOrOne) {
  EXPECT_EQ(reduce<std::int32_t>(Element::int32, Operation::logical_and, {2, 4, -1}), 1);
  EXPECT_EQ(reduce<std::int32_t>(Element::int32, Operation::logical_and, {2, 0, -1}), 0);
  EXPECT_EQ(reduce<std::int8_t>(Element::int8, Operation::logical_or, {0, 0, -128}), 1);
  EXPECT_EQ(reduce<std::int8_t>(Element::int8, Operation::logical_or, {0, 0, 0}), 0);
  EXPECT_EQ(reduce<std::uint64_t>(Element::uint64, Operation::logical_xor, {2, 4}), 0u);
  EXPECT_EQ(reduce<std::uint64_t>(Element::uint64, Operation::logical_xor, {2, 4, 8}), 1u);
}

TEST(ScalarKernels, BitwiseResultsAreBits) {
  EXPECT_EQ(reduce<std::uint16_t>(Element::uint16, Operation::bitwise_and, {0xff0f, 0x0fff, 0xf00f}), 0x000f);
  EXPECT_EQ(reduce<std::uint16_t>(Element::uint16, Operation::bitwise_or, {0x0100, 0x0010, 0x0001}), 0x0111);
  EXPECT_EQ(reduce<std::uint16_t>(Element::uint16, Operation::bitwise_xor, {0xffff, 0x0ff0, 0x0001}), 0xf00e);
}

TEST(ScalarKernels, Float16IsRoundedOnceAtTheEnd) {
  constexpr std::uint16_t one = 0x3c00;
  constexpr std::uint16_t two_k = 0x6800; // 2048, where the spacing is 2 and 2048 + 1 is a tie that rounds down
  EXPECT_EQ(reduce<std::uint16_t>(Element::float16, Operation::sum, {two_k, one}), two_k);
  EXPECT_EQ(reduce<std::uint16_t>(Element::float16, Operation::sum, {two_k, one, one}), two_k + 1);
}

TEST(ScalarKernels, Bfloat16IsRoundedOnceAtTheEnd) {
  constexpr std::uint16_t one = 0x3f80;
  constexpr std::uint16_t two_fifty_six = 0x4380; // where the spacing is 2
  EXPECT_EQ(reduce<std::uint16_t>(Element::bfloat16, Operation::sum, {two_fifty_six, one}), two_fifty_six);
  EXPECT_EQ(reduce<std::uint16_t>(Element::bfloat16, Operation::sum, {two_fifty_six, one, one}), two_fifty_six + 1);
}

TEST(ScalarKernels, ASumKeepsItsFirstNanAndMakesItQuiet) {
  const float first = float_of(0x7f812345);
  const float second = float_of(0xffc00001);
  EXPECT_EQ(bits_of(reduce_floats(Operation::sum, {first, second})), 0x7fc12345u);
  EXPECT_EQ(bits_of(reduce_floats(Operation::sum, {second, first})), 0xffc00001u);
  EXPECT_EQ(bits_of(reduce_floats(Operation::product, {1.0f, second, 2.0f, first})), 0xffc00001u);
}

TEST(ScalarKernels, WhatHasNoValueIsTheNanOfX86) {
  EXPECT_EQ(bits_of(reduce_floats(Operation::sum, {infinity, -infinity})), 0xffc00000u);
  EXPECT_EQ(bits_of(reduce_floats(Operation::product, {-0.0f, infinity})), 0xffc00000u);
  EXPECT_EQ(reduce<std::uint16_t>(Element::float16, Operation::sum, {0x7c00, 0xfc00}), 0xfe00);
}

TEST(ScalarKernels, ExtremaTakeTheLaterOfNanAndOfEqualZeros) {
  const float nan = float_of(0x7fc00005);
  for (const Operation operation : {Operation::minimum, Operation::maximum}) {
    EXPECT_EQ(reduce_floats(operation, {nan, 1.0f}), 1.0f);
    EXPECT_EQ(bits_of(reduce_floats(operation, {1.0f, nan})), 0x7fc00005u);
    EXPECT_EQ(bits_of(reduce_floats(operation, {0.0f, -0.0f})), 0x80000000u);
    EXPECT_EQ(bits_of(reduce_floats(operation, {-0.0f, 0.0f})), 0u);
  }
}

} // namespace
} // namespace strata::kernel
