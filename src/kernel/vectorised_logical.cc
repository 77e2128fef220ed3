// SPDX-License-Identifier: BSD-3-Clause
// Logical operations: the sign of an integer does not matter.
#include "kernel/vectorised.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vectorised_logical.cc"
#include <hwy/foreach_target.h>

#include "kernel/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace strata::kernel::HWY_NAMESPACE {
namespace {

void set_all_logical(Kernels& kernels) {
  for_each_integer([&]<class T>(T, type::Element element) {
    set<Plain<T>, LogicalAnd>(kernels, element, type::Operation::logical_and);
    set<Plain<T>, LogicalOr>(kernels, element, type::Operation::logical_or);
    set<Plain<T>, LogicalXor>(kernels, element, type::Operation::logical_xor);
  });
}

} // namespace
} // namespace strata::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::kernel {

HWY_EXPORT(set_all_logical);
void set_logical(Kernels& kernels) { HWY_DYNAMIC_DISPATCH(set_all_logical)(kernels); }

} // namespace strata::kernel
#endif
