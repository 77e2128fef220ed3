# SPDX-License-Identifier: BSD-3-Clause
# Fuzz targets (libFuzzer, so clang): one file each, with a kept corpus of inputs.
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/fuzz.h
if FUZZERS
check_PROGRAMS += tests/fuzz/fuzz_options tests/fuzz/fuzz_levels tests/fuzz/fuzz_compositions tests/fuzz/fuzz_arrivals \
  tests/fuzz/fuzz_machines tests/fuzz/fuzz_profiles tests/fuzz/fuzz_tables
endif
fuzz_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
fuzz_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_options_SOURCES = tests/fuzz/fuzz_options.cc
tests_fuzz_fuzz_options_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_options_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_options_LDADD = libstrata-core.a
tests_fuzz_fuzz_levels_SOURCES = tests/fuzz/fuzz_levels.cc
tests_fuzz_fuzz_levels_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_levels_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_levels_LDADD = libstrata-core.a
tests_fuzz_fuzz_compositions_SOURCES = tests/fuzz/fuzz_compositions.cc
tests_fuzz_fuzz_compositions_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_compositions_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_compositions_LDADD = libstrata-core.a
tests_fuzz_fuzz_arrivals_SOURCES = tests/fuzz/fuzz_arrivals.cc
tests_fuzz_fuzz_arrivals_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_arrivals_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_arrivals_LDADD = libstrata-core.a
tests_fuzz_fuzz_profiles_SOURCES = tests/fuzz/fuzz_profiles.cc
tests_fuzz_fuzz_profiles_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_profiles_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_profiles_LDADD = libstrata-core.a
tests_fuzz_fuzz_tables_SOURCES = tests/fuzz/fuzz_tables.cc
tests_fuzz_fuzz_tables_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_tables_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_tables_LDADD = libstrata-core.a
tests_fuzz_fuzz_machines_SOURCES = tests/fuzz/fuzz_machines.cc
tests_fuzz_fuzz_machines_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_machines_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_machines_LDADD = libstrata-core.a
if FUZZERS
dist_check_SCRIPTS += tests/fuzz/fuzz_test
else
EXTRA_DIST += tests/fuzz/fuzz_test
endif
