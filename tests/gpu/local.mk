# SPDX-License-Identifier: BSD-3-Clause
# For a machine with a GPU; nothing here is run by make check but what says that there is none, and what can be seen
# over a libcuda of the tests' own.
EXTRA_DIST += tests/gpu/check tests/gpu/gpu_memory.h tests/gpu/values.h
mpi_c_sources += tests/gpu/allreduce.c tests/gpu/api.c
tests/gpu/allreduce.mpi tests/gpu/api.mpi: tests/gpu/gpu_memory.h tests/gpu/values.h
dist_check_SCRIPTS += tests/gpu/without_gpu_test
if HAVE_CUDA
check_PROGRAMS += tests/gpu/kernels
endif
tests_gpu_kernels_SOURCES = tests/gpu/kernels.cc tests/unit/samples.h
tests_gpu_kernels_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit
tests_gpu_kernels_CXXFLAGS = $(AM_CXXFLAGS) $(CUDA_WARNING_FLAGS)
tests_gpu_kernels_LDADD = libstrata-core.a
