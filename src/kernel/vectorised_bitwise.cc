// SPDX-License-Identifier: BSD-3-Clause
// Bitwise operations: one kernel for bytes serves all integer types.
#include "kernel/vectorised.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vectorised_bitwise.cc"
#include <hwy/foreach_target.h>

#include "kernel/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace strata::kernel::HWY_NAMESPACE {
namespace {

template <std::size_t bytes>
void set_for(Kernels& kernels, type::Element element) {
  set<Plain<std::uint8_t>, BitwiseAnd, bytes>(kernels, element, type::Operation::bitwise_and);
  set<Plain<std::uint8_t>, BitwiseOr, bytes>(kernels, element, type::Operation::bitwise_or);
  set<Plain<std::uint8_t>, BitwiseXor, bytes>(kernels, element, type::Operation::bitwise_xor);
}

void set_all_bitwise(Kernels& kernels) {
  using type::Element;
  for (const Element element : {Element::int8, Element::uint8})
    set_for<1>(kernels, element);
  for (const Element element : {Element::int16, Element::uint16})
    set_for<2>(kernels, element);
  for (const Element element : {Element::int32, Element::uint32})
    set_for<4>(kernels, element);
  for (const Element element : {Element::int64, Element::uint64})
    set_for<8>(kernels, element);
}

} // namespace
} // namespace strata::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::kernel {

HWY_EXPORT(set_all_bitwise);
void set_bitwise(Kernels& kernels) { HWY_DYNAMIC_DISPATCH(set_all_bitwise)(kernels); }

} // namespace strata::kernel
#endif
