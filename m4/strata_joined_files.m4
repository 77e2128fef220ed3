dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_JOINED_FILES: are the files of a folder compiled as one (a unity build)? Sets JOINED_FILES and JOINED_TESTS.
AC_DEFUN([STRATA_JOINED_FILES], [
  AC_ARG_ENABLE([joined-files],
    [AS_HELP_STRING([--enable-joined-files],
      [compile the files of a folder as one: faster, for builds that only test; =tests for those of the unit tests])],
    [], [enable_joined_files=no])
  AS_CASE([$enable_joined_files], [yes|tests|no], [],
    [AC_MSG_ERROR([--enable-joined-files=$enable_joined_files is not known; allowed: yes, tests or no])])
  AM_CONDITIONAL([JOINED_FILES], [test "$enable_joined_files" = yes])
  AM_CONDITIONAL([JOINED_TESTS], [test "$enable_joined_files" != no])
])
