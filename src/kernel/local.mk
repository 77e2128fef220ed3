# SPDX-License-Identifier: BSD-3-Clause
libstrata_core_a_SOURCES += \
  src/kernel/elements.h \
  src/kernel/half.h \
  src/kernel/kernel.h \
  src/kernel/scalar.cc
kernel_sources += \
  src/kernel/copy-inl.h \
  src/kernel/module.cc \
  src/kernel/operations-inl.h \
  src/kernel/reduce-inl.h \
  src/kernel/vectorised.cc \
  src/kernel/vectorised.h \
  src/kernel/vectorised_bitwise.cc \
  src/kernel/vectorised_extrema.cc \
  src/kernel/vectorised_floats.cc \
  src/kernel/vectorised_halves.cc \
  src/kernel/vectorised_logical.cc \
  src/kernel/vectorised_sums.cc
