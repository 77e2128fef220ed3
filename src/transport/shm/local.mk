# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/transport/shm/handover.cc src/transport/shm/handover.h \
  src/transport/shm/order_by_peers.h \
  src/transport/shm/pages_to_populate.cc src/transport/shm/pages_to_populate.h \
  src/transport/shm/parity_board.cc src/transport/shm/parity_board.h \
  src/transport/shm/segment.cc src/transport/shm/segment.h \
  src/transport/shm/shm_channel.cc src/transport/shm/shm_channel.h \
  src/transport/shm/shm_transport.cc src/transport/shm/shm_transport.h
