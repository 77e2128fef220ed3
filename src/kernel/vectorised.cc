// SPDX-License-Identifier: BSD-3-Clause
#include "kernel/vectorised.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vectorised.cc"
#include <hwy/foreach_target.h>

#include "kernel/copy-inl.h"

HWY_BEFORE_NAMESPACE();
namespace strata::kernel::HWY_NAMESPACE {
namespace {

void set_name_and_copy(Kernels& kernels) {
  kernels.instruction_set = hwy::TargetName(HWY_TARGET);
  kernels.copy = copy;
}

} // namespace
} // namespace strata::kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::kernel {
namespace {

HWY_EXPORT(set_name_and_copy);

Kernels make_vectorised() {
  Kernels kernels = scalar();
  HWY_DYNAMIC_DISPATCH(set_name_and_copy)(kernels);
  set_sums_and_products(kernels);
  set_minima_and_maxima(kernels);
  set_logical(kernels);
  set_bitwise(kernels);
  set_floats(kernels);
  set_halves(kernels);
  return kernels;
}

} // namespace

const Kernels& vectorised() {
  static const Kernels kernels = make_vectorised();
  return kernels;
}

std::vector<Kernels> vectorised_for_each_instruction_set() {
  std::vector<Kernels> sets;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    sets.push_back(make_vectorised());
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return sets;
}

} // namespace strata::kernel
#endif
