// SPDX-License-Identifier: BSD-3-Clause
// Sums and products of integers: they wrap, so signed and unsigned ones have the same bits.
#include "kernel/vectorised.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vectorised_sums.cc"
#include <hwy/foreach_target.h>

#include "kernel/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace strata::kernel::HWY_NAMESPACE {
namespace {

void set_all_sums(Kernels& kernels) {
  for_each_integer([&]<class T>(T, type::Element element) {
    set<Plain<T>, Sum>(kernels, element, type::Operation::sum);
    set<Plain<T>, Product>(kernels, element, type::Operation::product);
  });
}

} // namespace
} // namespace strata::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::kernel {

HWY_EXPORT(set_all_sums);
void set_sums_and_products(Kernels& kernels) { HWY_DYNAMIC_DISPATCH(set_all_sums)(kernels); }

} // namespace strata::kernel
#endif
