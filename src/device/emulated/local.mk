# SPDX-License-Identifier: BSD-3-Clause
emulated_sources += \
  src/device/emulated/accelerator.cc src/device/emulated/accelerator.h \
  src/device/emulated/driver.cc src/device/emulated/driver.h \
  src/device/emulated/faults.cc src/device/emulated/faults.h \
  src/device/emulated/memory.cc src/device/emulated/memory.h \
  src/device/emulated/module.cc src/device/emulated/program.h \
  src/device/emulated/queue.cc src/device/emulated/queue.h
