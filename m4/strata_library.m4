dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_LIBRARY(OPTION, VARIABLE, PKG-CONFIG NAME, HEADER, LIBRARIES, PURPOSE): is an optional library there?
dnl
dnl --with-OPTION=DIR looks in DIR only, --without-OPTION does not look, --with-OPTION makes its absence an error.
dnl Sets VARIABLE_CPPFLAGS, VARIABLE_LIBS, the conditional HAVE_VARIABLE, and strata_has_OPTION for the summary.
AC_DEFUN([STRATA_LIBRARY], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1@<:@=DIR|no@:>@], [$6])], [], [with_$1=auto])
  $2_CPPFLAGS=
  $2_LIBS=
  strata_has_$1=no
  strata_why_$1="not found: $4"
  AS_CASE([$with_$1],
    [no], [strata_why_$1="--without-$1"],
    [yes|auto], [
      AS_IF([test -n "$PKG_CONFIG" && $PKG_CONFIG --exists $3 2>/dev/null], [
        $2_CPPFLAGS=`$PKG_CONFIG --cflags-only-I $3`
        m4_ifval([$5], [$2_LIBS="`$PKG_CONFIG --libs-only-L $3` $5"])
      ], [$2_LIBS="$5"])
      STRATA_TRY_LIBRARY([$1], [$2], [$4])],
    [ $2_CPPFLAGS="-I$with_$1/include"
      m4_ifval([$5], [
        strata_libdir=$with_$1/lib
        AS_IF([test ! -d "$strata_libdir"], [strata_libdir=$with_$1/lib64])
        $2_LIBS="-L$strata_libdir -Wl,-rpath,$strata_libdir $5"])
      STRATA_TRY_LIBRARY([$1], [$2], [$4])
    ])
  AS_IF([test $strata_has_$1 = no], [
    AS_CASE([$with_$1], [no|auto], [],
      [AC_MSG_ERROR([--with-$1=$with_$1 was given, but a program with <$4> does not link; see config.log])])
    $2_CPPFLAGS=
    $2_LIBS=
  ], [AC_DEFINE([HAVE_$2], [1], [Define to 1 if $1 is there ($6).])])
  AC_SUBST([$2_CPPFLAGS])
  AC_SUBST([$2_LIBS])
  AM_CONDITIONAL([HAVE_$2], [test $strata_has_$1 = yes])
])

dnl STRATA_TRY_LIBRARY(OPTION, VARIABLE, HEADER): does a program with HEADER compile and link with what was found?
AC_DEFUN([STRATA_TRY_LIBRARY], [
  AC_MSG_CHECKING([for $1 (<$3>)])
  AC_LANG_PUSH([C++])
  strata_saved_CPPFLAGS=$CPPFLAGS
  strata_saved_CXXFLAGS=$CXXFLAGS
  strata_saved_LIBS=$LIBS
  CPPFLAGS="$CPPFLAGS $$2_CPPFLAGS"
  CXXFLAGS="$CXXFLAGS $CXX_STANDARD -O0 -pthread"
  LIBS="$$2_LIBS $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <$3>]])], [strata_has_$1=yes])
  CPPFLAGS=$strata_saved_CPPFLAGS
  CXXFLAGS=$strata_saved_CXXFLAGS
  LIBS=$strata_saved_LIBS
  AC_LANG_POP([C++])
  AC_MSG_RESULT([$strata_has_$1])
])

dnl STRATA_REQUIRED_HEADERS: are the header-only libraries there that the core cannot do without? Sets FMT_CPPFLAGS.
AC_DEFUN([STRATA_REQUIRED_HEADERS], [
  AC_LANG_PUSH([C++])
  AC_CHECK_HEADER([fmt/format.h], [], [AC_MSG_ERROR([fmt/format.h is missing (Debian: libfmt-dev)])])
  # Which parts of fmt are not inline differs by its version.
  AC_CACHE_CHECK([whether src/base/formatting.cc is all that this version of fmt needs], [strata_cv_fmt], [
    strata_saved_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS $CXX_STANDARD"
    AC_LINK_IFELSE([AC_LANG_SOURCE([[
      #include "$srcdir/src/base/formatting.cc"
      int main(int words, char** word) { fmt::print("{} {:.2f} {:>8}\n", words, 1.5 * words, word[0]); }
      ]])], [strata_cv_fmt=yes], [strata_cv_fmt=-DFMT_HEADER_ONLY])
    CXXFLAGS=$strata_saved_CXXFLAGS
  ])
  FMT_CPPFLAGS=
  AS_IF([test "$strata_cv_fmt" != yes], [FMT_CPPFLAGS=$strata_cv_fmt])
  AC_SUBST([FMT_CPPFLAGS])
  AC_LANG_POP([C++])
])
