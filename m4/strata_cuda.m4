dnl SPDX-License-Identifier: BSD-3-Clause
dnl STRATA_CUDA: is there a CUDA toolkit, and for which GPUs is code made?
dnl
dnl Only nvcc and cuda.h are asked for: nothing is linked to a library of CUDA, and no driver is needed to build.
dnl --with-cuda=DIR looks in DIR only, --without-cuda does not look, --with-cuda makes its absence an error; else nvcc is
dnl looked for on PATH and in /usr/local/cuda. The variable CUDA_ARCHITECTURES ("80 90") names the compute capabilities.
dnl Sets NVCC, NVCC_FLAGS, NVCC_TARGETS, CUDA_CPPFLAGS, CUDA_ARCHITECTURES, the conditional HAVE_CUDA, and
dnl strata_has_cuda for the summary.
AC_DEFUN([STRATA_CUDA], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR|no@:>@], [buffers in the memory of NVIDIA GPUs (needs nvcc)])],
    [], [with_cuda=auto])
  AC_ARG_VAR([CUDA_ARCHITECTURES], [compute capabilities that GPU code is made for, such as "80 90"; default: those of
    data centres that nvcc knows])
  NVCC=
  NVCC_FLAGS="-std=c++20 -O3 -fmad=false --expt-relaxed-constexpr -Werror all-warnings"
  NVCC_TARGETS=
  CUDA_CPPFLAGS=
  strata_has_cuda=no
  strata_why_cuda="nvcc not found"
  AS_CASE([$with_cuda],
    [no], [strata_why_cuda="--without-cuda"],
    [yes|auto], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH$PATH_SEPARATOR/usr/local/cuda/bin])],
    [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])
  AS_IF([test -n "$NVCC"], [STRATA_CUDA_TRY])
  AS_IF([test $strata_has_cuda = no], [
    AS_CASE([$with_cuda], [no|auto], [],
      [AC_MSG_ERROR([--with-cuda=$with_cuda was given, but: $strata_why_cuda; see config.log])])])
  AC_SUBST([NVCC])
  AC_SUBST([NVCC_FLAGS])
  AC_SUBST([NVCC_TARGETS])
  AC_SUBST([CUDA_CPPFLAGS])
  AM_CONDITIONAL([HAVE_CUDA], [test $strata_has_cuda = yes])
])

dnl STRATA_CUDA_TRY: does this nvcc compile C++20 with this host compiler, and where is its cuda.h?
AC_DEFUN([STRATA_CUDA_TRY], [
  STRATA_CUDA_TARGETS
  AC_MSG_CHECKING([whether $NVCC compiles for compute capabilities $CUDA_ARCHITECTURES])
  AS_ECHO(["#include <bit>
__global__ void double_it(float* value) { *value += std::bit_cast<float>(*value); }"]) >conftest.cu
  strata_cuda_log=`$NVCC $NVCC_FLAGS $NVCC_TARGETS -fatbin -o conftest.fatbin conftest.cu 2>&1`
  AS_IF([test -f conftest.fatbin], [strata_has_cuda=yes], [strata_why_cuda="$NVCC fails on a small kernel"])
  AS_ECHO(["$strata_cuda_log"]) >&AS_MESSAGE_LOG_FD
  rm -f conftest.cu conftest.fatbin
  AC_MSG_RESULT([$strata_has_cuda])
  # nvcc knows where its headers are, wherever a distribution put them.
  strata_cuda_include=`$NVCC --dryrun -x cu /dev/null -o conftest.o 2>&1 |
    sed -n 's/^#$ INCLUDES="*-I\(@<:@^"@:>@*\)".*/\1/p' | sed 1q`
  AS_IF([test ! -f "$strata_cuda_include/cuda.h"], [strata_cuda_include=${NVCC%/bin/nvcc}/include])
  AS_IF([test $strata_has_cuda = yes && test ! -f "$strata_cuda_include/cuda.h"],
    [strata_has_cuda=no
     strata_why_cuda="$NVCC has no cuda.h beside it"])
  # As a system's: its warnings are not ours.
  CUDA_CPPFLAGS="-isystem $strata_cuda_include"
])

dnl STRATA_CUDA_TARGETS: code for each compute capability, and PTX of the newest, which later GPUs compile at run time.
dnl Code for x.y runs on x.z with z >= y, so that one for each generation is enough: V100, T4, A100 (L4, L40), H100 and
dnl H200, B200 (B300). Those that this nvcc does not know are left out.
AC_DEFUN([STRATA_CUDA_TARGETS], [
  strata_cuda_known=`$NVCC --list-gpu-code 2>/dev/null | sed -n 's/^sm_\(@<:@0-9@:>@*\)$/\1/p'`
  AS_IF([test "x$CUDA_ARCHITECTURES" = x], [
    for strata_architecture in 70 75 80 90 100; do
      AS_CASE([" "`echo $strata_cuda_known`" "], [*" $strata_architecture "*],
        [CUDA_ARCHITECTURES="${CUDA_ARCHITECTURES:+$CUDA_ARCHITECTURES }$strata_architecture"])
    done])
  strata_newest=0
  for strata_architecture in $CUDA_ARCHITECTURES; do
    NVCC_TARGETS="$NVCC_TARGETS -gencode arch=compute_$strata_architecture,code=sm_$strata_architecture"
    AS_IF([test "$strata_architecture" -gt "$strata_newest"], [strata_newest=$strata_architecture])
  done
  NVCC_TARGETS="$NVCC_TARGETS -gencode arch=compute_$strata_newest,code=compute_$strata_newest"
])
