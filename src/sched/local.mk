# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/sched/builder.cc src/sched/builder.h \
  src/sched/schedule.cc src/sched/schedule.h
