# SPDX-License-Identifier: BSD-3-Clause
cuda_sources += \
  src/device/cuda/contexts.cc src/device/cuda/contexts.h \
  src/device/cuda/driver.cc src/device/cuda/driver.h \
  src/device/cuda/kernels.cc src/device/cuda/kernels.h \
  src/device/cuda/library.cc src/device/cuda/library.h \
  src/device/cuda/mappings.cc src/device/cuda/mappings.h \
  src/device/cuda/module.cc \
  src/device/cuda/nvlink.cc src/device/cuda/nvlink.h \
  src/device/cuda/stream.cc src/device/cuda/stream.h
