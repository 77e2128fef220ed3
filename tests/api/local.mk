# SPDX-License-Identifier: BSD-3-Clause
dist_check_SCRIPTS += \
  tests/api/api_test \
  tests/api/on_stream_test \
  tests/api/api_with_mpi_test
EXTRA_DIST += tests/api/failing_mpi.c tests/api/on_stream_mpi.c tests/api/with_mpi.c
check_PROGRAMS += tests/api/on-stream tests/api/without-mpi
tests_api_on_stream_SOURCES = tests/api/forked.c tests/api/forked.h tests/api/on_stream.c
tests_api_on_stream_CPPFLAGS = $(tests_api_without_mpi_CPPFLAGS)
tests_api_on_stream_CFLAGS = -std=c99 $(AM_CFLAGS)
tests_api_on_stream_LDFLAGS = $(tests_api_without_mpi_LDFLAGS)
tests_api_on_stream_LDADD = lib/libstrata.so $(SANITIZE_C_LIBS)
EXTRA_tests_api_on_stream_DEPENDENCIES = lib/strata/emulated.so
tests_api_without_mpi_SOURCES = tests/api/forked.c tests/api/forked.h tests/api/without_mpi.c
tests_api_without_mpi_CPPFLAGS = -I$(top_srcdir)/include -I$(top_srcdir)/tests/api
tests_api_without_mpi_CFLAGS = -std=c99 -pedantic $(AM_CFLAGS)
tests_api_without_mpi_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,$(abs_top_builddir)/lib
tests_api_without_mpi_LDADD = lib/libstrata.so $(SANITIZE_C_LIBS)
