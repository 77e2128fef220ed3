dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_JOINED_FILES: are the files of a folder compiled as one (a unity build)? Sets JOINED_FILES.
AC_DEFUN([STRATA_JOINED_FILES], [
  AC_ARG_ENABLE([joined-files],
    [AS_HELP_STRING([--enable-joined-files], [compile the files of a folder as one: faster, for builds that only test])],
    [], [enable_joined_files=no])
  # What is global in one file is so in all of its folder, and parameters may be called the same.
  AS_IF([test "$enable_joined_files" = yes], [WARNING_FLAGS="$WARNING_FLAGS -Wno-shadow"])
  AM_CONDITIONAL([JOINED_FILES], [test "$enable_joined_files" = yes])
])
