// SPDX-License-Identifier: BSD-3-Clause
// float16 and bfloat16, accumulated in float32.
#include "kernel/vectorised.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vectorised_halves.cc"
#include <hwy/foreach_target.h>

#include "kernel/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace strata::kernel::HWY_NAMESPACE {
namespace {

template <class Format>
void set_for(Kernels& kernels, type::Element element) {
  set<Format, FloatSum>(kernels, element, type::Operation::sum);
  set<Format, FloatProduct>(kernels, element, type::Operation::product);
  set<Format, Minimum>(kernels, element, type::Operation::minimum);
  set<Format, Maximum>(kernels, element, type::Operation::maximum);
}

void set_all_halves(Kernels& kernels) {
  set_for<Float16>(kernels, type::Element::float16);
  set_for<Bfloat16>(kernels, type::Element::bfloat16);
}

} // namespace
} // namespace strata::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::kernel {

HWY_EXPORT(set_all_halves);
void set_halves(Kernels& kernels) { HWY_DYNAMIC_DISPATCH(set_all_halves)(kernels); }

} // namespace strata::kernel
#endif
