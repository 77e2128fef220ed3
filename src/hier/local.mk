# SPDX-License-Identifier: BSD-3-Clause
libstrata_core_a_SOURCES += \
  src/hier/composition.cc src/hier/composition.h src/hier/composition_text.cc
