# SPDX-License-Identifier: BSD-3-Clause
libstrata_core_a_SOURCES += \
  src/type/type.cc \
  src/type/type.h
