# SPDX-License-Identifier: BSD-3-Clause
libstrata_core_a_SOURCES += src/tune/choice.cc src/tune/choice.h src/tune/model.cc src/tune/model.h \
  src/tune/probe.cc src/tune/probe.h src/tune/trial.cc src/tune/trial.h
