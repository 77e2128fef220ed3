# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/verify/expressions.cc src/verify/expressions.h \
  src/verify/form.cc src/verify/form.h \
  src/verify/intervals.cc src/verify/intervals.h \
  src/verify/progress.cc src/verify/progress.h \
  src/verify/races.cc src/verify/races.h \
  src/verify/report.cc src/verify/report.h \
  src/verify/step_graph.cc src/verify/step_graph.h \
  src/verify/symbolic.cc src/verify/symbolic.h \
  src/verify/verifier.cc src/verify/verifier.h
