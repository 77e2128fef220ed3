dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_SANITIZERS: build with sanitizers? Sets SANITIZE_FLAGS and the conditionals SANITIZED and
dnl SANITIZED_THREADS.
AC_DEFUN([STRATA_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST],
      [instrument everything: address,undefined or thread; for unit tests, not for a preload])],
    [], [enable_sanitizers=no])
  SANITIZE_FLAGS=
  AS_CASE([$enable_sanitizers],
    [no], [],
    [yes], [enable_sanitizers=address,undefined])
  AS_IF([test "$enable_sanitizers" != no], [
    SANITIZE_FLAGS="-fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
    AC_MSG_CHECKING([whether $CXX links with $SANITIZE_FLAGS])
    AC_LANG_PUSH([C++])
    strata_saved_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS $SANITIZE_FLAGS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR([--enable-sanitizers=$enable_sanitizers does not work with $CXX])])
    CXXFLAGS=$strata_saved_CXXFLAGS
    AC_LANG_POP([C++])
  ])
  # A C program that is linked with instrumented C++ needs the C++ part of clang's runtime library; gcc has one for both.
  SANITIZE_C_LIBS=
  AS_IF([test "$enable_sanitizers" != no], [
    strata_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $SANITIZE_FLAGS -fsanitize-link-c++-runtime"
    strata_saved_LIBS=$LIBS
    LIBS="-lstdc++ $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [SANITIZE_C_LIBS="-fsanitize-link-c++-runtime -lstdc++"])
    CFLAGS=$strata_saved_CFLAGS
    LIBS=$strata_saved_LIBS
  ])
  AC_SUBST([SANITIZE_C_LIBS])
  AC_SUBST([SANITIZE_FLAGS])
  AM_CONDITIONAL([SANITIZED], [test "$enable_sanitizers" != no])
  AM_CONDITIONAL([SANITIZED_THREADS], [test "$enable_sanitizers" = thread])
  AC_ARG_ENABLE([fuzzers], [AS_HELP_STRING([--enable-fuzzers], [build the fuzz targets; needs clang with libFuzzer])],
    [], [enable_fuzzers=no])
  FUZZER_LIBRARY=
  AS_IF([test "$enable_fuzzers" = yes], [
    SANITIZE_FLAGS="$SANITIZE_FLAGS -fsanitize=fuzzer-no-link"
    FUZZER_LIBRARY=-fsanitize=fuzzer
  ])
  AC_SUBST([FUZZER_LIBRARY])
  AM_CONDITIONAL([FUZZERS], [test "$enable_fuzzers" = yes])
])
