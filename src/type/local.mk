# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/type/type.cc \
  src/type/type.h
