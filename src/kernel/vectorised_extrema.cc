// SPDX-License-Identifier: BSD-3-Clause
// Minima and maxima of integers.
#include "kernel/vectorised.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vectorised_extrema.cc"
#include <hwy/foreach_target.h>

#include "kernel/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace strata::kernel::HWY_NAMESPACE {
namespace {

template <class T>
void set_for(Kernels& kernels, type::Element element) {
  set<Plain<T>, Minimum>(kernels, element, type::Operation::minimum);
  set<Plain<T>, Maximum>(kernels, element, type::Operation::maximum);
}

void set_all_extrema(Kernels& kernels) {
  using type::Element;
  set_for<std::int8_t>(kernels, Element::int8);
  set_for<std::uint8_t>(kernels, Element::uint8);
  set_for<std::int16_t>(kernels, Element::int16);
  set_for<std::uint16_t>(kernels, Element::uint16);
  set_for<std::int32_t>(kernels, Element::int32);
  set_for<std::uint32_t>(kernels, Element::uint32);
  set_for<std::int64_t>(kernels, Element::int64);
  set_for<std::uint64_t>(kernels, Element::uint64);
}

} // namespace
} // namespace strata::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::kernel {

HWY_EXPORT(set_all_extrema);
void set_minima_and_maxima(Kernels& kernels) { HWY_DYNAMIC_DISPATCH(set_all_extrema)(kernels); }

} // namespace strata::kernel
#endif
