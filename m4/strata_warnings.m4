dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_WARNINGS: which warnings are asked for? Sets WARNING_FLAGS (C and C++ alike).
AC_DEFUN([STRATA_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])], [],
    [enable_werror=no])
  WARNING_FLAGS="-Wall -Wextra -Wconversion -Wshadow"
  AS_IF([test "$enable_werror" = yes], [WARNING_FLAGS="$WARNING_FLAGS -Werror"])
  AC_SUBST([WARNING_FLAGS])
])
