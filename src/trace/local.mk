# SPDX-License-Identifier: BSD-3-Clause
libstrata_core_a_SOURCES += \
  src/trace/recorder.cc src/trace/recorder.h \
  src/trace/timeline.cc src/trace/timeline.h
