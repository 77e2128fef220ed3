// SPDX-License-Identifier: BSD-3-Clause
// The kernels by name: strata_reduce_<element>_<operation>(Reduction).
#include "kernel/cuda/reduce.h"
#include "kernel/cuda/rows.h"

namespace strata::kernel::cuda {

using namespace elements;

#define STRATA_CUDA_KERNEL(element, Format, operation, Operation)                                                      \
  extern "C" __global__ void __launch_bounds__(block_threads)                                                          \
      strata_reduce_##element##_##operation(const __grid_constant__ Reduction reduction) {                             \
    const Thread self{std::uint64_t{blockIdx.x} * block_threads + threadIdx.x,                                         \
                      std::uint64_t{gridDim.x} * block_threads};                                                       \
    reduce_part<Format, Operation>(reduction, self);                                                                   \
  }

STRATA_CUDA_KERNELS(STRATA_CUDA_KERNEL)

} // namespace strata::kernel::cuda
