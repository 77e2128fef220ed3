# SPDX-License-Identifier: BSD-3-Clause
libstrata_core_a_SOURCES += \
  src/device/bounce_pool.cc src/device/bounce_pool.h \
  src/device/driver.h \
  src/device/loader.cc src/device/loader.h \
  src/device/vector.cc src/device/vector.h
