# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/hier/composition.cc src/hier/composition.h src/hier/composition_text.cc
