# SPDX-License-Identifier: BSD-3-Clause
# Strata's messages over MPI: a part of strata under mpirun, not a user's program.
if HAVE_MPI
check_PROGRAMS += tests/mpi/transport_over_mpi
endif
tests_mpi_transport_over_mpi_SOURCES = tests/mpi/transport_over_mpi.cc \
  src/transport/mpi/mpi_transport.cc src/transport/mpi/mpi_transport.h
tests_mpi_transport_over_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
tests_mpi_transport_over_mpi_LDADD = libstrata-core.a $(MPI_LIBS)
dist_check_SCRIPTS += tests/mpi/transport_over_mpi_test

# Strata under unmodified programs of a user.
EXTRA_DIST += tests/mpi/runs.sh tests/mpi/survivors.sh tests/mpi/four_gpus.xml
mpi_c_sources += \
  tests/mpi/allocations.c \
  tests/mpi/matrix.c \
  tests/mpi/sums.c
dist_check_SCRIPTS += \
  tests/mpi/counts_test \
  tests/mpi/matrix_test \
  tests/mpi/trial_test \
  tests/mpi/tune_test
mpi_c_sources += tests/mpi/progress.c
mpi_fortran_sources += \
  tests/mpi/calls_mpi_f08.f90 \
  tests/mpi/calls_mpif.f90 \
  tests/mpi/calls_use_mpi.f90
EXTRA_DIST += tests/mpi/opener.c tests/mpi/tool.c
dist_check_SCRIPTS += \
  tests/mpi/languages_test \
  tests/mpi/progress_test \
  tests/mpi/quiet_test \
  tests/mpi/tools_test
mpi_cc_sources += tests/mpi/throws.cc
mpi_c_sources += \
  tests/mpi/check.c \
  tests/mpi/communicators.c \
  tests/mpi/connected.c \
  tests/mpi/corners.c \
  tests/mpi/device.c \
  tests/mpi/early.c \
  tests/mpi/ends.c \
  tests/mpi/kinds.c \
  tests/mpi/lasting.c \
  tests/mpi/late.c \
  tests/mpi/meeting.c \
  tests/mpi/probes_c.c \
  tests/mpi/reproducible.c \
  tests/mpi/spawned.c \
  tests/mpi/errors.c \
  tests/mpi/shortage.c \
  tests/mpi/threads.c \
  tests/mpi/types.c \
  tests/mpi/victim.c \
  tests/mpi/wildcard.c
dist_check_SCRIPTS += \
  tests/mpi/check_test \
  tests/mpi/communicators_test \
  tests/mpi/crowded_test \
  tests/mpi/device_native_test \
  tests/mpi/device_test \
  tests/mpi/errors_test \
  tests/mpi/faults_test \
  tests/mpi/kinds_test \
  tests/mpi/options_test \
  tests/mpi/places_test \
  tests/mpi/reproducible_test \
  tests/mpi/start_test \
  tests/mpi/threads_test \
  tests/mpi/timeline_test \
  tests/mpi/trouble_test \
  tests/mpi/types_test \
  tests/mpi/waits_test
dist_check_SCRIPTS += tests/mpi/examples_test
EXTRA_DIST += tests/mpi/counts_c.c tests/mpi/filtered.c tests/mpi/knowing.c tests/mpi/large.c tests/mpi/rank_sums.h \
  tests/mpi/rights.c tests/mpi/sessions.c tests/mpi/teller.c
tests/mpi/connected.mpi tests/mpi/spawned.mpi: tests/mpi/rank_sums.h
