dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_SUMMARY: what will be built, and why not the rest?
AC_DEFUN([STRATA_SUMMARY], [AS_IF([test "$silent" != yes], [STRATA_SUMMARY_TABLE])])

AC_DEFUN([STRATA_SUMMARY_TABLE], [
  AS_ECHO(["
strata $PACKAGE_VERSION is configured:
  prefix            $prefix
  compilers         $CC; $CXX $CXX_STANDARD
  flags             $CXXFLAGS $SANITIZE_FLAGS
  libstrata         yes"])
  AS_IF([test "$strata_has_mpi" = yes],
    [AS_ECHO(["  preload for MPI   yes: $MPI_SONAME ($MPICC)"])
     AS_ECHO(["  launcher          ${MPIRUN:-none: the tests under mpirun are skipped}"])],
    [AS_ECHO(["  preload for MPI   no: $strata_why_mpi"])])
  STRATA_SUMMARY_ROW([kernels (SIMD)  ], [highway])
  STRATA_SUMMARY_ROW([UCX transport   ], [ucx])
  STRATA_SUMMARY_ROW([hwloc topology  ], [hwloc])
  AS_IF([test "$strata_has_cuda" = yes],
    [AS_ECHO(["  CUDA buffers      yes: compute capabilities $CUDA_ARCHITECTURES and later ($NVCC)"])],
    [AS_ECHO(["  CUDA buffers      no: $strata_why_cuda"])])
  STRATA_SUMMARY_ROW([tools           ], [cli11])
  STRATA_SUMMARY_ROW([JSON output     ], [json])
  STRATA_SUMMARY_ROW([SVG, XML output ], [pugixml])
  STRATA_SUMMARY_ROW([unit tests      ], [gtest])
  AS_ECHO(["  Fortran tests     $strata_has_mpifc
Next: make, make check, make install.
"])
])

dnl STRATA_SUMMARY_ROW(LABEL, OPTION of STRATA_LIBRARY)
AC_DEFUN([STRATA_SUMMARY_ROW], [
  AS_IF([test "$strata_has_$2" = yes], [AS_ECHO(["  $1  yes"])], [AS_ECHO(["  $1  no: $strata_why_$2"])])
])
