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

void set_all_bitwise(Kernels& kernels) {
  for_each_integer([&]<class T>(T, type::Element element) {
    set<Plain<std::uint8_t>, BitwiseAnd, sizeof(T)>(kernels, element, type::Operation::bitwise_and);
    set<Plain<std::uint8_t>, BitwiseOr, sizeof(T)>(kernels, element, type::Operation::bitwise_or);
    set<Plain<std::uint8_t>, BitwiseXor, sizeof(T)>(kernels, element, type::Operation::bitwise_xor);
  });
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
