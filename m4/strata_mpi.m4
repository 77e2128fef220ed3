dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_MPI: which MPI library, with which flags, which soname and which launcher?
dnl
dnl The module that enters MPI is built for exactly one library, told by its soname, and is named after it:
dnl several builds (one per MPI library) can be installed into one prefix.
dnl Sets MPICC, MPICXX, MPIFC, MPIRUN, MPI_CPPFLAGS, MPI_LIBS, MPI_SONAME, MPI_FLAVOUR, conditionals HAVE_MPI, HAVE_MPIFC.
AC_DEFUN([STRATA_MPI], [
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--without-mpi], [build no preload and no MPI tools])], [], [with_mpi=auto])
  AC_ARG_VAR([MPICC], [C compiler wrapper of the MPI library @<:@mpicc.openmpi, else mpicc@:>@])
  AC_ARG_VAR([MPICXX], [C++ compiler wrapper of the same MPI library])
  AC_ARG_VAR([MPIFC], [Fortran compiler wrapper of the same MPI library (tests and examples only)])
  AC_ARG_VAR([MPIRUN], [launcher of the same MPI library (tests only)])
  strata_has_mpi=no
  strata_has_mpifc=no
  strata_why_mpi="--without-mpi"
  AS_IF([test "$with_mpi" != no], [
    STRATA_MPI_PROGRAM([MPICC], [mpicc.openmpi mpicc], [])
    strata_why_mpi="no mpicc; set MPICC"
    AS_IF([test -n "$MPICC"], [STRATA_MPI_FLAGS])
    AS_IF([test "$strata_has_mpi" = no && test "$with_mpi" = yes],
      [AC_MSG_ERROR([--with-mpi was given, but: $strata_why_mpi])])
  ])
  AS_IF([test "$strata_has_mpi" = yes], [
    STRATA_MPI_SIBLINGS
    STRATA_MPI_FORTRAN
    AC_DEFINE([HAVE_MPI], [1], [Define to 1 if the MPI module is built.])
    AC_DEFINE_UNQUOTED([STRATA_MPI_SONAME], ["$MPI_SONAME"], [The soname of the MPI library of this build.])
  ])
  AC_SUBST([MPI_CPPFLAGS])
  AC_SUBST([MPI_LIBS])
  AC_SUBST([MPI_SONAME])
  AC_SUBST([MPI_FLAVOUR])
  AM_CONDITIONAL([HAVE_MPI], [test "$strata_has_mpi" = yes])
  AM_CONDITIONAL([HAVE_MPIFC], [test "$strata_has_mpifc" = yes])
])

dnl STRATA_MPI_PROGRAM(variable, names, search path): the program's path. What the user set counts alone, also a name
dnl without a path, which AC_PATH_PROGS by itself would pass over, and is looked for in PATH too.
AC_DEFUN([STRATA_MPI_PROGRAM], [
  strata_wanted=$$1
  AS_CASE([$strata_wanted], [/*], [], [AS_UNSET([$1])])
  AC_PATH_PROGS([$1], [${strata_wanted:-$2}], [], [m4_ifval([$3], [$$3${strata_wanted:+:$PATH}], [$PATH])])
  AS_IF([test -n "$strata_wanted" && test ! -x "$$1"], [AC_MSG_ERROR([$1=$strata_wanted is no program])])
])

dnl What the wrapper adds to the compiler's command line, and which library a program then needs.
AC_DEFUN([STRATA_MPI_FLAGS], [
  AC_MSG_CHECKING([what $MPICC adds])
  strata_line=`$MPICC --showme 2>/dev/null` || strata_line=`$MPICC -show 2>/dev/null`
  # The C++ bindings that MPI dropped are never used.
  MPI_CPPFLAGS="-DOMPI_SKIP_MPICXX=1 -DMPICH_SKIP_MPICXX=1"
  MPI_LIBS=
  # Of what is for the linker, only where a program finds the library; it may be two words, -Wl,-rpath -Wl,/folder, or
  # four. xargs takes a shell's quotes off, in which some wrappers print paths. A word with a dollar sign is no folder
  # of an installation, and make would read it once more.
  strata_linker_word=no
  for strata_word in `AS_ECHO(["$strata_line"]) | xargs -n 1 printf '%s\n'`; do
    AS_CASE([$strata_linker_word$strata_word],
      [*'$'*], [strata_linker_word=no],
      [no-Xlinker], [strata_linker_word=yes],
      [yes*rpath*|yes/*|yes*new-dtags], [MPI_LIBS="$MPI_LIBS -Xlinker $strata_word" strata_linker_word=no],
      [yes*], [strata_linker_word=no],
      [no-I*|no-D*], [MPI_CPPFLAGS="$MPI_CPPFLAGS $strata_word"],
      [no-L*|no-l*|no-Wl,*rpath*|no-Wl,/*|no-Wl,*new-dtags], [MPI_LIBS="$MPI_LIBS $strata_word"])
  done
  AC_MSG_RESULT([$MPI_CPPFLAGS $MPI_LIBS])

  AC_MSG_CHECKING([for the soname of the MPI library])
  strata_saved_CPPFLAGS=$CPPFLAGS
  strata_saved_LIBS=$LIBS
  CPPFLAGS="$CPPFLAGS $MPI_CPPFLAGS"
  LIBS="$MPI_LIBS $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[return MPI_Init(0, 0);]])], [
    MPI_SONAME=`readelf -d conftest$EXEEXT |
      sed -n 's/.*(NEEDED).*\@<:@\(libmpi.*\)\@:>@.*/\1/p' | grep -v -e cxx -e fort -e mpifh | sed 1q`
  ])
  CPPFLAGS=$strata_saved_CPPFLAGS
  LIBS=$strata_saved_LIBS
  AC_MSG_RESULT([${MPI_SONAME:-none}])
  AS_IF([test -n "$MPI_SONAME"], [strata_has_mpi=yes],
    [strata_why_mpi="$MPICC does not link a program with a shared libmpi"])
])

dnl Tests ask it: how the launcher is called, and what the library can. Intel's and MVAPICH are of MPICH's family.
AC_DEFUN([STRATA_MPI_FLAVOUR], [
  AC_MSG_CHECKING([whether that is Open MPI or of the family of MPICH])
  strata_saved_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $MPI_CPPFLAGS"
  MPI_FLAVOUR=other
  AC_COMPUTE_INT([strata_family], [family], [
    #include <mpi.h>
    #if defined(OPEN_MPI)
    enum { family = 1 };
    #elif defined(MPICH_VERSION) || defined(I_MPI_VERSION)
    enum { family = 2 };
    #else
    enum { family = 0 };
    #endif
  ])
  AS_CASE([$strata_family], [1], [MPI_FLAVOUR=openmpi], [2], [MPI_FLAVOUR=mpich])
  CPPFLAGS=$strata_saved_CPPFLAGS
  AC_MSG_RESULT([$MPI_FLAVOUR])
])

dnl The other wrappers and the launcher have the name of MPICC with another middle: mpicc.mpich, mpif90.mpich, …
dnl They are in its folder: one found elsewhere would be of another library.
AC_DEFUN([STRATA_MPI_SIBLINGS], [
  STRATA_MPI_FLAVOUR
  strata_mpi_dir=`AS_DIRNAME(["$MPICC"])`
  strata_mpi_suffix=`AS_ECHO(["$MPICC"]) | sed 's,.*/,,; s/^mpi@<:@a-z@:>@*//'`
  STRATA_MPI_PROGRAM([MPICXX], [mpicxx$strata_mpi_suffix mpic++$strata_mpi_suffix], [strata_mpi_dir])
  STRATA_MPI_PROGRAM([MPIFC], [mpifort$strata_mpi_suffix mpif90$strata_mpi_suffix], [strata_mpi_dir])
  STRATA_MPI_PROGRAM([MPIRUN], [mpirun$strata_mpi_suffix mpiexec$strata_mpi_suffix], [strata_mpi_dir])
])

dnl Does the Fortran wrapper make a program? Fortran is used by tests and examples only.
AC_DEFUN([STRATA_MPI_FORTRAN], [
  AC_MSG_CHECKING([whether ${MPIFC:-no Fortran wrapper} compiles a program that uses mpi_f08])
  AS_IF([test -n "$MPIFC"], [
    mkdir -p conftest.dir
    cat >conftest.dir/try.f90 <<EOF
program try
  use mpi_f08
  call MPI_Init()
  call MPI_Finalize()
end program try
EOF
    AS_IF([(cd conftest.dir && $MPIFC -o try try.f90) >&AS_MESSAGE_LOG_FD 2>&1], [strata_has_mpifc=yes])
    rm -rf conftest.dir
    AS_IF([test "$strata_has_mpifc" = no], [MPIFC=])
  ])
  AC_MSG_RESULT([$strata_has_mpifc])
])
