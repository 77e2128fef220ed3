# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/engine/core_contention.cc src/engine/core_contention.h \
  src/engine/device_queue.h src/engine/device_side.h \
  src/engine/plan.h src/engine/plan_device.cc src/engine/plan_device_steps.cc src/engine/plan_record.cc \
  src/engine/plan_run.cc src/engine/plan_setup.cc \
  src/engine/scratch.cc src/engine/scratch.h \
  src/engine/slice_memory.h \
  src/engine/wait.cc src/engine/wait.h
