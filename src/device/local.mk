# SPDX-License-Identifier: BSD-3-Clause
libstrata_core_a_SOURCES += \
  src/device/driver.h \
  src/device/loader.cc src/device/loader.h
