# SPDX-License-Identifier: BSD-3-Clause
# Random calls, by strata and by the MPI library's own in one process, compared. It knows strata's header, to ask for
# options and for the MPI library's entry.
EXTRA_DIST += tests/differential/case.h tests/differential/values.h
mpi_cc_sources += tests/differential/differential.cc
tests/differential/differential.mpi: tests/differential/differential.cc \
  tests/differential/case.h tests/differential/values.h include/strata/strata_mpi.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(MPICXX) -std=c++17 $(MPI_PROGRAM_FLAGS) -I$(top_srcdir)/include -o $@ \
	  $(top_srcdir)/tests/differential/differential.cc -ldl
dist_check_SCRIPTS += tests/differential/differential_test
