# SPDX-License-Identifier: BSD-3-Clause
mpi_sources += \
  src/mpi/allreduce.cc src/mpi/bootstrap.cc src/mpi/bootstrap.h src/mpi/check.cc src/mpi/check.h \
  src/mpi/communicators.cc src/mpi/dump.cc src/mpi/dump.h \
  src/mpi/handles.cc src/mpi/handles.h src/mpi/handshake.cc src/mpi/handshake.h \
  src/mpi/lifetime.cc src/mpi/native.cc src/mpi/native.h src/mpi/rejections.cc src/mpi/rejections.h src/mpi/state.h
shim_sources += \
  src/mpi/shim/locate.c src/mpi/shim/locate.h src/mpi/shim/module_interface.h src/mpi/shim/shim.c
mpi_sources += src/mpi/introspect.cc src/mpi/statistics.cc src/mpi/timeline.cc src/mpi/timeline.h
if HAVE_JSON
mpi_sources += src/mpi/describe.cc src/mpi/describe.h
endif
