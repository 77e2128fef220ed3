dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_SHARED_FLAGS: how are shared objects compiled and linked without leaking into the program?
dnl Sets OBJECT_FLAGS (compile), SHARED_FLAGS (link, C++) and PLAIN_SHARED_FLAGS (link, C, libc only).
AC_DEFUN([STRATA_SHARED_FLAGS], [
  OBJECT_FLAGS="-fPIC -fvisibility=hidden -pthread"
  # Unique symbols of inline variables would tie a module to the first copy that the process loaded.
  STRATA_TRY_FLAG([-fno-gnu-unique], [OBJECT_FLAGS="$OBJECT_FLAGS -fno-gnu-unique"])
  PLAIN_SHARED_FLAGS="-shared -Wl,--as-needed -Wl,-z,relro"
  SHARED_FLAGS="$PLAIN_SHARED_FLAGS -Wl,--exclude-libs,ALL -Wl,-Bsymbolic"
  # libgcc stays shared: an exception of the program's may pass through here, and its unwinder is one of the process.
  # The sanitizers' run time is resolved when the program starts, and must see the shared libstdc++.
  AS_IF([test "x$SANITIZE_FLAGS" = x], [
    PLAIN_SHARED_FLAGS="$PLAIN_SHARED_FLAGS -Wl,-z,defs"
    SHARED_FLAGS="$SHARED_FLAGS -Wl,-z,defs -static-libstdc++"
  ])
  AC_SUBST([OBJECT_FLAGS])
  AC_SUBST([SHARED_FLAGS])
  AC_SUBST([PLAIN_SHARED_FLAGS])
])

dnl STRATA_TRY_FLAG(FLAG, IF-ACCEPTED): does the C++ compiler take FLAG without a complaint?
AC_DEFUN([STRATA_TRY_FLAG], [
  AC_MSG_CHECKING([whether $CXX takes $1])
  AC_LANG_PUSH([C++])
  strata_saved_CXXFLAGS=$CXXFLAGS
  CXXFLAGS="$CXXFLAGS -Werror $1"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])
    $2], [AC_MSG_RESULT([no])])
  CXXFLAGS=$strata_saved_CXXFLAGS
  AC_LANG_POP([C++])
])
