// SPDX-License-Identifier: BSD-3-Clause
// float32 and float64.
#include "kernel/vectorised.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vectorised_floats.cc"
#include <hwy/foreach_target.h>

#include "kernel/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace strata::kernel::HWY_NAMESPACE {
namespace {

template <class T>
void set_for(Kernels& kernels, type::Element element) {
  set<Plain<T>, FloatSum>(kernels, element, type::Operation::sum);
  set<Plain<T>, FloatProduct>(kernels, element, type::Operation::product);
  set<Plain<T>, Minimum>(kernels, element, type::Operation::minimum);
  set<Plain<T>, Maximum>(kernels, element, type::Operation::maximum);
}

void set_all_floats(Kernels& kernels) {
  set_for<float>(kernels, type::Element::float32);
#if HWY_HAVE_FLOAT64
  set_for<double>(kernels, type::Element::float64);
#endif
}

} // namespace
} // namespace strata::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::kernel {

HWY_EXPORT(set_all_floats);
void set_floats(Kernels& kernels) { HWY_DYNAMIC_DISPATCH(set_all_floats)(kernels); }

} // namespace strata::kernel
#endif
