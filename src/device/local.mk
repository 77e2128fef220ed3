# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/device/bounce_pool.cc src/device/bounce_pool.h \
  src/device/driver.h \
  src/device/held_frees.h \
  src/device/initialised_cuda.h \
  src/device/loader.cc src/device/loader.h \
  src/device/vector.cc src/device/vector.h \
  src/device/word.h
