# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/trace/recorder.cc src/trace/recorder.h \
  src/trace/timeline.cc src/trace/timeline.h
