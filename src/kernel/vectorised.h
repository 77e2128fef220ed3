// SPDX-License-Identifier: BSD-3-Clause
// Inside of the kernel module: its table is filled in parts, a file each, so that they compile side by side.
#pragma once

#include "kernel/kernel.h"

#include <vector>

// Not compiled, to build faster: no processor of the last fifteen years stops at SSSE3. (Those that stop at SSE4 or AVX
// are in use.) A build for tests may leave out more. Before any header of Highway, in all files of the module alike.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS HWY_SSSE3
#endif

namespace strata::kernel {

/// Each sets its rows of `kernels` for the instruction set that Highway has chosen.
void set_sums_and_products(Kernels& kernels); ///< of integers
void set_minima_and_maxima(Kernels& kernels); ///< of integers
void set_logical(Kernels& kernels);
void set_bitwise(Kernels& kernels);
void set_floats(Kernels& kernels); ///< float32 and float64
void set_halves(Kernels& kernels); ///< float16 and bfloat16

/// The kernels of every instruction set that was compiled and that this processor has, best first. For tests:
/// changes Highway's choice while it runs, so no other thread may be in vectorised() for the first time.
std::vector<Kernels> vectorised_for_each_instruction_set();

} // namespace strata::kernel
