# SPDX-License-Identifier: BSD-3-Clause
cuda_sources += \
  src/kernel/cuda/reduce.h \
  src/kernel/cuda/rows.h
EXTRA_DIST += src/kernel/cuda/kernels.cu
