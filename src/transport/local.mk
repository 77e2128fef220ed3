# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/transport/buffer_pool.cc src/transport/buffer_pool.h \
  src/transport/carrier.cc src/transport/carrier.h \
  src/transport/message.cc src/transport/message.h \
  src/transport/message_channel.cc src/transport/message_channel.h \
  src/transport/network_cards.cc src/transport/network_cards.h \
  src/transport/transport.h \
  src/transport/ucx_loader.cc src/transport/ucx_loader.h
