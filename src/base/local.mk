# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/base/activity.cc src/base/activity.h \
  src/base/address_space.cc src/base/address_space.h \
  src/base/blocked_signals.h \
  src/base/core_share.cc src/base/core_share.h \
  src/base/descriptor.h \
  src/base/elapsed.h src/base/first_failure.h \
  src/base/formatting.cc \
  src/base/host.cc src/base/host.h \
  src/base/log.cc src/base/log.h \
  src/base/median.h \
  src/base/memory_kind.h src/base/module.cc src/base/module.h \
  src/base/number_runs.cc src/base/number_runs.h \
  src/base/option_rows.cc src/base/option_rows.h \
  src/base/options.cc src/base/options.h \
  src/base/prefetch.h \
  src/base/private_folder.cc src/base/private_folder.h \
  src/base/quantity.cc src/base/quantity.h \
  src/base/result.h \
  src/base/rounding.h \
  src/base/text.cc src/base/text.h \
  src/base/text_file.cc src/base/text_file.h \
  src/base/written_file.cc src/base/written_file.h
