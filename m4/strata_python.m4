dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_PYTHON: which Python runs the tests and the example? Sets PYTHON3.
dnl One that has mpi4py, if there is one: a second Python before the distribution's in PATH often has not.
AC_DEFUN([STRATA_PYTHON], [
  AC_ARG_VAR([PYTHON3], [Python 3 with mpi4py (tests and examples only)])
  AC_CACHE_CHECK([for a Python 3 with mpi4py], [strata_cv_python3], [
    strata_cv_python3=$PYTHON3
    AS_IF([test -z "$strata_cv_python3"], [
      strata_cv_python3=python3
      for strata_python in python3 /usr/bin/python3; do
        AS_IF([$strata_python -c 'import mpi4py' 2>/dev/null], [strata_cv_python3=$strata_python; break])
      done
    ])
  ])
  PYTHON3=$strata_cv_python3
])
