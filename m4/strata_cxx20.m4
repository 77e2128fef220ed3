dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_CXX20: which flag makes the C++ compiler speak C++20? Sets CXX_STANDARD.
AC_DEFUN([STRATA_CXX20], [
  AC_LANG_PUSH([C++])
  AC_CACHE_CHECK([for the flag that selects C++20], [strata_cv_cxx20], [
    strata_cv_cxx20=no
    strata_saved_CXXFLAGS=$CXXFLAGS
    for strata_flag in -std=c++20 -std=c++2a; do
      CXXFLAGS="$strata_saved_CXXFLAGS $strata_flag"
      AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
        #include <bit>
        #include <concepts>
        #include <span>
        template <std::integral T> T twice(T value) { return value + value; }
        struct Pair { int first; int second; };
      ]], [[
        int numbers[] = {1, 2};
        Pair pair{.first = twice(1), .second = std::span(numbers)[1]};
        return pair.first + std::bit_cast<int>(1.0f);
      ]])], [strata_cv_cxx20=$strata_flag; break])
    done
    CXXFLAGS=$strata_saved_CXXFLAGS
  ])
  AC_LANG_POP([C++])
  AS_IF([test "$strata_cv_cxx20" = no],
    [AC_MSG_ERROR([$CXX does not compile C++20; set CXX to g++ 11, clang 14 or later])])
  AC_SUBST([CXX_STANDARD], [$strata_cv_cxx20])
])
