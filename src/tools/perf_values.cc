// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf_values.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace strata::tools {
namespace {

using type::Element;
using type::Operation;

constexpr std::size_t period = 65521; // elements

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U; // splitmix64 (Steele, Lea and Flood 2014)
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

/// The value of `rank` at `place` < period. Sums and products stay exact in float32 for any number of ranks.
template <typename T>
T value_at(Operation operation, std::uint64_t rank, std::size_t place) {
  const std::uint64_t random = mixed(rank * 0x9e3779b97f4a7c15U + place);
  const std::uint64_t eighth = random % 8;
  switch (operation) {
  case Operation::sum:
    return static_cast<T>(eighth);
  case Operation::product:
    if constexpr (std::is_floating_point_v<T>) return eighth == 0 ? T(2) : eighth == 1 ? T(0.5) : T(1);
    return eighth == 0 ? T(2) : eighth == 1 ? T(3) : T(1);
  case Operation::minimum:
  case Operation::maximum:
    return static_cast<T>(static_cast<T>(random % 120) - (std::is_signed_v<T> ? T(60) : T(0)));
  case Operation::logical_and:
  case Operation::logical_or:
  case Operation::logical_xor:
    return static_cast<T>(eighth);
  default:
    return static_cast<T>(random);
  }
}

/// Whole numbers as 64 bits without sign: wrapping, then cut to the type, is what wrapping in the type gives.
template <typename T>
T combined(Operation operation, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    switch (operation) {
    case Operation::sum:
      return static_cast<T>(x + y);
    case Operation::product:
      return static_cast<T>(x * y);
    case Operation::logical_and:
      return static_cast<T>(a != 0 && b != 0);
    case Operation::logical_or:
      return static_cast<T>(a != 0 || b != 0);
    case Operation::logical_xor:
      return static_cast<T>((a != 0) != (b != 0));
    case Operation::bitwise_and:
      return static_cast<T>(x & y);
    case Operation::bitwise_or:
      return static_cast<T>(x | y);
    case Operation::bitwise_xor:
      return static_cast<T>(x ^ y);
    default:
      break;
    }
  } else {
    if (operation == Operation::sum) return a + b;
    if (operation == Operation::product) return a * b;
  }
  return operation == Operation::minimum ? std::min(a, b) : std::max(a, b);
}

/// Calls `use` with a value of the type that `element` names.
template <typename Use>
auto with_type(Element element, Use use) {
  switch (element) {
  case Element::int8:
    return use(std::int8_t{});
  case Element::uint8:
    return use(std::uint8_t{});
  case Element::int16:
    return use(std::int16_t{});
  case Element::uint16:
    return use(std::uint16_t{});
  case Element::int32:
    return use(std::int32_t{});
  case Element::uint32:
    return use(std::uint32_t{});
  case Element::int64:
    return use(std::int64_t{});
  case Element::uint64:
    return use(std::uint64_t{});
  case Element::float32:
    return use(float{});
  default:
    return use(double{});
  }
}

} // namespace

KnownVectors::KnownVectors(Element element, Operation operation, int ranks)
    : element_(element), operation_(operation), reduction_(period * type::bytes_of(element)) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t place = 0; place < period; ++place) {
      T result = value_at<T>(operation, 0, place);
      for (int rank = 1; rank < ranks; ++rank)
        result = combined(operation, result, value_at<T>(operation, static_cast<std::uint64_t>(rank), place));
      std::memcpy(reduction_.data() + place * sizeof(T), &result, sizeof(T));
    }
  });
}

void KnownVectors::fill(void* vector, std::size_t elements, int rank) const {
  with_type(element_, [&](auto zero) {
    using T = decltype(zero);
    auto* const values = static_cast<T*>(vector);
    const std::size_t first = std::min(elements, period);
    for (std::size_t place = 0; place < first; ++place)
      values[place] = value_at<T>(operation_, static_cast<std::uint64_t>(rank), place);
    for (std::size_t begin = period; begin < elements; begin += period)
      std::copy_n(values, std::min(period, elements - begin), values + begin);
  });
}

std::int64_t KnownVectors::differences(const void* vector, std::size_t elements) const {
  const std::size_t element_bytes = type::bytes_of(element_);
  const auto* const seen = static_cast<const std::byte*>(vector);
  std::int64_t count = 0;
  for (std::size_t begin = 0; begin < elements; begin += period) {
    const std::size_t here = std::min(period, elements - begin);
    const std::byte* const from = seen + begin * element_bytes;
    if (std::memcmp(from, reduction_.data(), here * element_bytes) == 0) continue;
    for (std::size_t i = 0; i < here; ++i)
      count += std::memcmp(from + i * element_bytes, reduction_.data() + i * element_bytes, element_bytes) != 0;
  }
  return count;
}

void fill_neutral(void* vector, std::size_t elements, Element element, Operation operation) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(static_cast<T*>(vector), elements, operation == Operation::product ? T(1) : T(0));
  });
}

} // namespace strata::tools
