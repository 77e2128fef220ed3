# SPDX-License-Identifier: BSD-3-Clause
# Fuzz targets (libFuzzer, so clang), with a kept corpus of inputs: a target is one .cc of its own name.
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/fuzz.h
if FUZZERS
check_PROGRAMS += tests/fuzz/fuzz_options tests/fuzz/fuzz_levels tests/fuzz/fuzz_compositions tests/fuzz/fuzz_arrivals \
  tests/fuzz/fuzz_machines tests/fuzz/fuzz_profiles tests/fuzz/fuzz_tables
dist_check_SCRIPTS += tests/fuzz/fuzz_test
else
EXTRA_DIST += tests/fuzz/fuzz_test
endif
# For every program that says nothing else, which are these.
AM_DEFAULT_SOURCE_EXT = .cc
LDADD = libstrata-core.a $(FUZZER_LIBRARY)
