// SPDX-License-Identifier: BSD-3-Clause
// The plain loops: one element at a time, in the words of kernel.h.
#include "kernel/elements.h"
#include "kernel/kernel.h"

#include <cstdint>
#include <cstring>

namespace strata::kernel {
namespace {

using type::Element;
using type::Operation;

using namespace elements;

// ---- loops ------------------------------------------------------------------------------------------------------

void copy(void* to, const void* from, std::size_t bytes, Store) {
  if (to != from && bytes != 0) std::memcpy(to, from, bytes);
}

template <class Format, class Op>
void reduce_alone(void* out, const void* const* in, std::size_t inputs, std::size_t count, Store store) {
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

template <class Format, class Op>
void reduce(void* out, const void* const* in, std::size_t inputs, std::size_t count, Store store,
            const Beside* beside) {
  using Stored = typename Format::Stored;
  const std::span<const Copy> copies = beside != nullptr ? beside->copies : std::span<const Copy>();
  for (const Copy& what : copies)
    copy(what.to, what.from, what.bytes, what.store);
  reduce_alone<Format, Op>(out, in, inputs, count, store);
  if (beside != nullptr && beside->also != nullptr) copy(beside->also, out, count * sizeof(Stored), beside->also_store);
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
