dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_WARNINGS: which warnings are asked for? Sets WARNING_FLAGS (C and C++ alike), and what CUDA_WARNING_FLAGS adds
dnl for the module for CUDA and the programs that test it. (To nvcc, they are errors in any case.)
AC_DEFUN([STRATA_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror@<:@=cuda@:>@],
    [treat compiler warnings as errors (cuda: of what is for CUDA alone)])], [],
    [enable_werror=no])
  WARNING_FLAGS="-Wall -Wextra -Wconversion -Wshadow"
  AS_IF([test "$enable_werror" = yes], [WARNING_FLAGS="$WARNING_FLAGS -Werror"])
  CUDA_WARNING_FLAGS=
  AS_IF([test "$enable_werror" = cuda], [CUDA_WARNING_FLAGS=-Werror])
  AC_SUBST([WARNING_FLAGS])
  AC_SUBST([CUDA_WARNING_FLAGS])
])
