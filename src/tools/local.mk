# SPDX-License-Identifier: BSD-3-Clause
libstrata_tools_a_CPPFLAGS = $(AM_CPPFLAGS) -DSTRATA_LIBDIR='"$(libdir)"'
libstrata_tools_a_SOURCES += \
  src/tools/run_environment.cc src/tools/run_environment.h

bin_PROGRAMS += bin/strata-run
bin_strata_run_SOURCES = src/tools/run.cc
bin_strata_run_LDADD = libstrata-tools.a libstrata-core.a

if HAVE_CLI11
if HAVE_JSON
libstrata_tools_a_SOURCES += \
  src/tools/command_line.cc src/tools/command_line.h \
  src/tools/complaint.cc src/tools/complaint.h \
  src/tools/info.h src/tools/info_flags.cc \
  src/tools/matrix.h \
  src/tools/perf.h src/tools/perf_flags.cc src/tools/perf_values.h \
  src/tools/probe.h src/tools/probe_flags.cc \
  src/tools/sim.h src/tools/sim_flags.cc \
  src/tools/tune.h src/tools/tune_flags.cc src/tools/tune_report.cc src/tools/tune_table.cc
joinable_tools += \
  src/tools/info_facts.cc src/tools/info_links.cc src/tools/info_schedule.cc src/tools/info_show.cc \
  src/tools/info_text.cc src/tools/info_waits.cc \
  src/tools/perf_report.cc src/tools/perf_statistics.cc src/tools/perf_values.cc \
  src/tools/sim_hwloc.cc src/tools/sim_plan.cc src/tools/sim_profile.cc src/tools/sim_report.cc src/tools/sim_run.cc \
  src/tools/sim_trace.cc
if HAVE_PUGIXML
libstrata_tools_a_SOURCES += src/tools/matrix.cc src/tools/perf_plot.cc
else
libstrata_tools_a_SOURCES += src/tools/no_matrix.cc src/tools/perf_no_plot.cc
endif

bin_PROGRAMS += bin/strata-info bin/strata-perf bin/strata-probe bin/strata-sim bin/strata-tune
bin_strata_info_SOURCES = src/tools/info.cc
bin_strata_info_LDADD = $(tool_libraries)
bin_strata_perf_SOURCES = src/tools/perf.cc
bin_strata_perf_LDADD = $(tool_libraries)
bin_strata_probe_SOURCES = src/tools/probe.cc
bin_strata_probe_LDADD = $(tool_libraries)
bin_strata_sim_SOURCES = src/tools/sim.cc
bin_strata_sim_LDADD = $(tool_libraries)
bin_strata_tune_SOURCES = src/tools/tune.cc
bin_strata_tune_LDADD = $(tool_libraries)

# What enters MPI is a program beside the modules, named after the MPI library as they are, so that builds for several
# MPI libraries share a prefix. It is linked to the preload, in front of the MPI library, and needs no preloading.
if HAVE_MPI
# What several of them share, compiled once.
noinst_LIBRARIES += libstrata-mpi-tools.a
noinst_PROGRAMS += lib/strata/info-mpi lib/strata/perf-mpi lib/strata/probe-mpi lib/strata/tune-mpi
mpi_tools = lib/strata/strata-info-$(MPI_SONAME) lib/strata/strata-perf-$(MPI_SONAME) \
  lib/strata/strata-probe-$(MPI_SONAME) lib/strata/strata-tune-$(MPI_SONAME)
endif
endif
endif
libstrata_mpi_tools_a_SOURCES = \
  src/tools/mpi_texts.cc src/tools/mpi_texts.h \
  src/tools/mpi_timing.cc src/tools/mpi_timing.h \
  src/tools/mpi_trials.cc src/tools/mpi_trials.h \
  src/tools/progress_line.cc src/tools/progress_line.h
libstrata_mpi_tools_a_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
mpi_tool_libraries = libstrata-mpi-tools.a $(tool_libraries) lib/libstrata-mpi.so $(MPI_LIBS)
mpi_tool_flags = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/..'
lib_strata_info_mpi_SOURCES = src/tools/info_job.cc
lib_strata_info_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
lib_strata_info_mpi_LDADD = $(mpi_tool_libraries)
lib_strata_info_mpi_LDFLAGS = $(mpi_tool_flags)
lib_strata_perf_mpi_SOURCES = \
  src/tools/perf_floor.cc \
  src/tools/perf_measure.cc src/tools/perf_measure.h \
  src/tools/perf_memory.cc src/tools/perf_memory.h \
  src/tools/perf_mpi.cc
lib_strata_perf_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
lib_strata_perf_mpi_LDADD = $(mpi_tool_libraries)
lib_strata_perf_mpi_LDFLAGS = $(mpi_tool_flags)

lib_strata_probe_mpi_SOURCES = src/tools/probe_mpi.cc
lib_strata_probe_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
lib_strata_probe_mpi_LDADD = $(mpi_tool_libraries)
lib_strata_probe_mpi_LDFLAGS = $(mpi_tool_flags)

lib_strata_tune_mpi_SOURCES = \
  src/tools/tune_choice.cc \
  src/tools/tune_measure.cc src/tools/tune_measure.h \
  src/tools/tune_mpi.cc
lib_strata_tune_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
lib_strata_tune_mpi_LDADD = $(mpi_tool_libraries)
lib_strata_tune_mpi_LDFLAGS = $(mpi_tool_flags)

noinst_DATA += $(mpi_tools)
lib/strata/strata-info-$(MPI_SONAME): lib/strata/info-mpi
	$(AM_V_GEN)rm -f $@ && $(LN_S) info-mpi $@
lib/strata/strata-perf-$(MPI_SONAME): lib/strata/perf-mpi
	$(AM_V_GEN)rm -f $@ && $(LN_S) perf-mpi $@
lib/strata/strata-probe-$(MPI_SONAME): lib/strata/probe-mpi
	$(AM_V_GEN)rm -f $@ && $(LN_S) probe-mpi $@
lib/strata/strata-tune-$(MPI_SONAME): lib/strata/tune-mpi
	$(AM_V_GEN)rm -f $@ && $(LN_S) tune-mpi $@
CLEANFILES += lib/strata/strata-*

# Not by a list of programs: --program-prefix must not rename them.
install-exec-local: $(mpi_tools)
	@test -z '$(mpi_tools)' || $(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	@for tool in $(mpi_tools); do \
	  echo " $(INSTALL_PROGRAM) $$tool '$(DESTDIR)$(pkglibdir)'"; \
	  $(INSTALL_PROGRAM_ENV) $(INSTALL_PROGRAM) $$tool '$(DESTDIR)$(pkglibdir)' || exit 1; \
	done
uninstall-local:
	@for tool in $(mpi_tools); do rm -f '$(DESTDIR)$(pkglibdir)'/"$${tool##*/}"; done
