# SPDX-License-Identifier: BSD-3-Clause
mpi_sources += src/transport/mpi/mpi_transport.cc src/transport/mpi/mpi_transport.h
