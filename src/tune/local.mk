# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/tune/board.h src/tune/choice.cc src/tune/choice.h \
  src/tune/growth.cc src/tune/growth.h \
  src/tune/host_list.cc src/tune/host_list.h \
  src/tune/link_numbers.cc src/tune/link_numbers.h \
  src/tune/look.cc src/tune/look.h \
  src/tune/message_times.cc src/tune/message_times.h \
  src/tune/model.cc src/tune/model.h \
  src/tune/probed_links.cc src/tune/probed_links.h \
  src/tune/probe.cc src/tune/probe.h \
  src/tune/profile.cc src/tune/profile.h src/tune/profile_reader.cc src/tune/profile_text.cc \
  src/tune/profile_cache.cc src/tune/profile_cache.h \
  src/tune/rates.h \
  src/tune/statement.cc src/tune/statement.h \
  src/tune/table.cc src/tune/table.h src/tune/table_text.cc \
  src/tune/trial.cc src/tune/trial.h
