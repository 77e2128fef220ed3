// SPDX-License-Identifier: BSD-3-Clause
// The one symbol of the module kernel.so.
#include "kernel/kernel.h"

extern "C" __attribute__((visibility("default"))) const strata::kernel::Kernels* strata_kernels_v3() {
  return &strata::kernel::vectorised();
}
