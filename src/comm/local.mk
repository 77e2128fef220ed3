# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/comm/all_or_none.cc src/comm/all_or_none.h src/comm/bootstrap.h src/comm/call_blocks.cc src/comm/call_blocks.h \
  src/comm/call_buffers.cc src/comm/call_buffers.h src/comm/context.h \
  src/comm/context_device.cc src/comm/context_neighbours.cc src/comm/context_parts.cc src/comm/context_peers.cc \
  src/comm/context_places.cc src/comm/context_plan.cc \
  src/comm/context_links.cc src/comm/context_messages.cc src/comm/context_probe.cc src/comm/context_review.cc \
  src/comm/context_run.cc src/comm/context_setup.cc src/comm/context_table.cc src/comm/context_trial.cc \
  src/comm/context_trial_log.cc src/comm/context_wait.cc \
  src/comm/device.cc src/comm/device.h src/comm/device_use.h \
  src/comm/known_links.cc src/comm/known_links.h src/comm/known_table.cc src/comm/known_table.h \
  src/comm/link_flow.cc src/comm/link_flow.h \
  src/comm/memory_rates.cc src/comm/memory_rates.h \
  src/comm/message_timing.cc src/comm/message_timing.h \
  src/comm/peer_slots.cc src/comm/peer_slots.h \
  src/comm/process.cc src/comm/process.h \
  src/comm/resident.cc src/comm/resident.h \
  src/comm/staging.cc src/comm/staging.h \
  src/comm/stream_calls.cc src/comm/stream_calls.h \
  src/comm/stream_words.cc src/comm/stream_words.h \
  src/comm/tally.h \
  src/comm/transports.cc src/comm/transports.h \
  src/comm/vector_in_parts.h src/comm/waits.cc src/comm/waits.h src/comm/watch.cc src/comm/watch.h
