# SPDX-License-Identifier: BSD-3-Clause
ucx_sources += \
  src/transport/ucx/ucx_context.cc src/transport/ucx/ucx_context.h \
  src/transport/ucx/ucx_module.cc \
  src/transport/ucx/ucx_settings.cc src/transport/ucx/ucx_settings.h \
  src/transport/ucx/ucx_transport.cc src/transport/ucx/ucx_transport.h
