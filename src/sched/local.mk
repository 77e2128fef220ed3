# SPDX-License-Identifier: BSD-3-Clause
libstrata_core_a_SOURCES += \
  src/sched/builder.cc src/sched/builder.h \
  src/sched/schedule.cc src/sched/schedule.h
