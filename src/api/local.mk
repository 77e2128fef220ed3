# SPDX-License-Identifier: BSD-3-Clause
api_sources += \
  src/api/api.cc \
  src/api/bootstrap.cc src/api/bootstrap.h \
  src/api/call.cc src/api/call.h \
  src/api/error.cc src/api/error.h
