// SPDX-License-Identifier: BSD-3-Clause
// Vectors of every element type whose reductions are exact in any order, and what the plain loops make of them.
#pragma once

#include "kernel/half.h"
#include "kernel/kernel.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace strata::vectors {

using type::Element;
using type::Operation;
using Bytes = std::vector<std::byte>;

template <typename Body>
void for_each_kind(Body body) {
  for (std::size_t e = 0; e < type::element_kinds; ++e)
    for (std::size_t o = 0; o < type::operation_kinds; ++o)
      if (const auto element = static_cast<Element>(e); type::is_defined(element, static_cast<Operation>(o)))
        body(element, static_cast<Operation>(o));
}

template <typename Number>
void put(std::byte* at, Element element, Number value) {
  const auto store = [at](auto converted) { std::memcpy(at, &converted, sizeof converted); };
  switch (element) {
  case Element::int8:
  case Element::uint8:
    return store(static_cast<std::int8_t>(value));
  case Element::int16:
  case Element::uint16:
    return store(static_cast<std::int16_t>(value));
  case Element::int32:
  case Element::uint32:
    return store(static_cast<std::int32_t>(value));
  case Element::int64:
  case Element::uint64:
    return store(static_cast<std::int64_t>(value));
  case Element::float16:
    return store(kernel::float16_of_float(static_cast<float>(value)));
  case Element::bfloat16:
    return store(kernel::bfloat16_of_float(static_cast<float>(value)));
  case Element::float32:
    return store(static_cast<float>(value));
  case Element::float64:
    return store(static_cast<double>(value));
  }
}

/// A small number for an element of a rank: sums of 16 and products of 8 of them are exact even in bfloat16.
inline int value(Operation operation, int rank, std::int64_t index, unsigned salt) {
  std::uint32_t hash =
      static_cast<std::uint32_t>(index) * 2654435761u + static_cast<std::uint32_t>(rank) * 40503u + salt;
  hash = (hash ^ (hash >> 15)) * 2246822519u;
  hash ^= hash >> 13;
  switch (operation) {
  case Operation::product:
    return hash % 3 == 0 ? 2 : 1;
  case Operation::logical_and:
  case Operation::logical_or:
  case Operation::logical_xor:
    return static_cast<int>(hash % 3);
  default:
    return static_cast<int>(hash % 8);
  }
}

/// The contribution of a rank.
inline Bytes contribution(Element element, Operation operation, int rank, std::int64_t count, unsigned salt) {
  const std::size_t size = type::bytes_of(element);
  Bytes bytes(static_cast<std::size_t>(count) * size);
  for (std::int64_t i = 0; i < count; ++i)
    put(bytes.data() + static_cast<std::size_t>(i) * size, element, value(operation, rank, i, salt));
  return bytes;
}

/// The reduction of the contributions of so many ranks.
inline Bytes reduction(Element element, Operation operation, int ranks, std::int64_t count, unsigned salt) {
  std::vector<Bytes> all;
  std::vector<const void*> in;
  for (int rank = 0; rank < ranks; ++rank)
    all.push_back(contribution(element, operation, rank, count, salt));
  for (const Bytes& one : all)
    in.push_back(one.data());
  Bytes out(all[0].size());
  kernel::scalar().find(element, operation)(out.data(), in.data(), in.size(), static_cast<std::size_t>(count),
                                            kernel::Store::cached, nullptr);
  return out;
}

/// Where two vectors differ first, or nothing.
inline std::string difference(const Bytes& wanted, const std::byte* got, std::size_t element_bytes) {
  if (wanted.empty() || std::memcmp(wanted.data(), got, wanted.size()) == 0) return {};
  std::size_t at = 0;
  while (wanted[at] == got[at])
    ++at;
  return "element " + std::to_string(at / element_bytes) + " of " + std::to_string(wanted.size() / element_bytes) +
         " is wrong";
}

/// A rank's memory for one call: input and output, apart or the same, with guards around the output.
class Buffers {
public:
  enum class Place { apart, same };
  Buffers(Bytes contribution, Place place)
      : input_(std::move(contribution)), output_(new std::byte[input_.size() + 2 * guard_bytes]), place_(place) {
    std::fill_n(output_.get(), guard_bytes, guard);
    std::fill_n(output() + input_.size(), guard_bytes, guard);
    if (place == Place::same)
      std::copy(input_.begin(), input_.end(), output());
    else
      std::fill_n(output(), input_.size(), std::byte{0x5a});
  }
  const std::byte* input() const { return place_ == Place::same ? output_.get() + guard_bytes : input_.data(); }
  std::byte* output() { return output_.get() + guard_bytes; }

  bool guards_hold() {
    const auto holds = [](std::byte value) { return value == guard; };
    return std::all_of(output_.get(), output(), holds) &&
           std::all_of(output() + input_.size(), output() + input_.size() + guard_bytes, holds);
  }

private:
  static constexpr std::size_t guard_bytes = 64;
  static constexpr std::byte guard{0xc3};
  Bytes input_;
  std::unique_ptr<std::byte[]> output_;
  Place place_;
};

} // namespace strata::vectors
