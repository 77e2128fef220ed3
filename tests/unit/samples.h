// SPDX-License-Identifier: BSD-3-Clause
// Operands for the tests of reductions.
#pragma once

#include "type/type.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

namespace strata::kernel {

using type::Element;
using type::Operation;

/// What the operands look like: floats with special values in every block would never take the common path.
enum class Sample { ordinary, rare_specials, any_bits };
inline constexpr Sample samples[] = {Sample::ordinary, Sample::rare_specials, Sample::any_bits};

/// The fields of a format below its sign.
struct FloatFormat {
  int exponent_bits;
  int fraction_bits;
};

/// Of moderate size, so that sums and products of nine stay finite; zeros of both signs and subnormals among them.
inline std::uint64_t ordinary_float(FloatFormat format, std::mt19937_64& random) {
  const std::uint64_t bits = random();
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << format.fraction_bits) - 1);
  const std::uint64_t sign = bits >> 63 << (format.exponent_bits + format.fraction_bits);
  const std::uint64_t bias = (std::uint64_t{1} << (format.exponent_bits - 1)) - 1;
  switch ((bits >> 55) % 16) {
  case 0:
    return sign;
  case 1:
    return sign | fraction;
  default:
    return sign | (bias - 4 + (bits >> 59) % 8) << format.fraction_bits | fraction;
  }
}

/// Infinities, quiet and signalling NaNs with payloads, the largest and smallest numbers.
inline std::uint64_t special_float(FloatFormat format, std::mt19937_64& random) {
  const std::uint64_t bits = random();
  const std::uint64_t sign = bits >> 63 << (format.exponent_bits + format.fraction_bits);
  const std::uint64_t infinity = ((std::uint64_t{1} << format.exponent_bits) - 1) << format.fraction_bits;
  const std::uint64_t payload = 1 + bits % ((std::uint64_t{1} << (format.fraction_bits - 1)) - 1);
  const std::uint64_t quiet = std::uint64_t{1} << (format.fraction_bits - 1);
  const std::uint64_t choices[] = {infinity, infinity | payload, infinity | quiet | payload, infinity - 1, 1};
  return sign | choices[(bits >> 55) % std::size(choices)];
}

/// One element's bits.
inline std::uint64_t draw(Element element, Sample sample, std::mt19937_64& random) {
  if (type::is_defined(element, Operation::bitwise_and)) { // an integer: zeros matter to the logical operations
    const std::uint64_t bits = random();
    return sample == Sample::any_bits ? bits : (bits >> 40) % 3 == 0 ? 0 : bits % 3 - 1;
  }
  const FloatFormat format = element == Element::float16    ? FloatFormat{5, 10}
                             : element == Element::bfloat16 ? FloatFormat{8, 7}
                             : element == Element::float32  ? FloatFormat{8, 23}
                                                            : FloatFormat{11, 52};
  if (sample == Sample::any_bits) return random() % 4 == 0 ? special_float(format, random) : random();
  if (sample == Sample::rare_specials && random() % 64 == 0) return special_float(format, random);
  return ordinary_float(format, random);
}

inline std::vector<std::byte> draw_many(Element element, Sample sample, std::size_t count, std::mt19937_64& random) {
  const std::size_t size = bytes_of(element);
  std::vector<std::byte> values(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = draw(element, sample, random);
    std::memcpy(&values[i * size], &bits, size); // the low bytes, on a little-endian processor
  }
  return values;
}

} // namespace strata::kernel
