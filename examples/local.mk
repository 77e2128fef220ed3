# SPDX-License-Identifier: BSD-3-Clause
mpi_c_sources += examples/times.c
mpi_fortran_sources += examples/cg.f90
EXTRA_DIST += examples/digits.py
