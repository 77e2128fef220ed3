# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by the tests that run unmodified MPI programs with strata preloaded; sources tests/tap.sh.
#
#   program matrix                                       $program is its path, and $preload that of the library
#   with_strata 4 STRATA_MODE=always "$program" 7        with the preload and its statistics
#   plain 4 "$program" 7                                 without
#   tally "run by strata" "ring" calls                   from the statistics of the last with_strata: the sum over the
#                                                        rows whose names match; or bytes, for what has them
#
# Both leave standard output in $tap_dir/out and standard error in $tap_dir/err, and end after $seconds.

# shellcheck source=tests/tap.sh
. "$STRATA_SOURCE/tests/tap.sh"
needs_mpi

preload=$STRATA_BUILD/lib/libstrata-mpi.so
# Instrumented builds run the tests that say `instrumented=yes`. The MPI library itself is not.
if [ -n "$STRATA_SANITIZE_FLAGS" ]; then
  [ -n "${instrumented:-}" ] || skip_all "it is not for an instrumented strata under an MPI library that is not"
  # What the library's locks order is not to count as ordered, nor what it reads and writes as a race.
  for module in "$STRATA_BUILD"/lib/strata/mpi-*.so; do
    module=${module##*/mpi-}
    echo "called_from_lib:${module%.so}\$"
  done >"$tap_dir/suppressions"
  export TSAN_OPTIONS="ignore_noninstrumented_modules=1 suppressions=$tap_dir/suppressions"
  export UCX_MEM_EVENTS=no # UCX's hooks run when a thread is over already for ThreadSanitizer
  export ASAN_OPTIONS=detect_leaks=0 # which it cannot tell from the library's own
  read -ra like_strata <<<"$STRATA_SANITIZE_FLAGS"
  if [[ "$STRATA_SANITIZE_FLAGS" = *fuzzer* ]]; then # which only clang has
    export OMPI_CC=clang MPICH_CC=clang
    like_strata+=(-fsanitize-link-c++-runtime -lstdc++)
  fi
fi
seconds=180
# What runs is to be known beforehand, so that it can be counted; the tests of trials say otherwise.
export STRATA_TUNE=model

program() {
  program=$STRATA_BUILD/tests/mpi/$1.mpi
  if [ -n "$STRATA_SANITIZE_FLAGS" ]; then
    program=$tap_dir/$1.mpi
    check "$1 is compiled like strata" "$MPICC" -O2 -g -o "$program" "$STRATA_SOURCE/tests/mpi/$1.c" "${like_strata[@]}"
  fi
  if ! [ -x "$program" ]; then
    not_ok "$1 was built"
    exit 1
  fi
}

# over_ucx COMMAND NAME ARGUMENT...: where this build has no UCX, NAME is left out, which is said.
over_ucx() {
  if [ -e "$STRATA_BUILD/lib/strata/ucx.so" ]; then
    "$@"
  else
    skip "$2" "this build has no module for UCX"
  fi
}

# begun: waits until the program lasting, in the background and with its output in $tap_dir/out, has made some calls.
begun() {
  for _ in $(seq 300); do
    ! grep -q "^lasting: begun" "$tap_dir/out" || break
    sleep 0.1
  done
}

# What starts the launcher, for tests that want another user or other mounts.
launched_by=()

limited_ranks() {
  local ranks=$1
  shift
  case $MPI_FLAVOUR in
  openmpi) timeout -k 5 "$seconds" "${launched_by[@]}" "$MPIRUN" --oversubscribe -n "$ranks" "$@" ;;
  *) timeout -k 5 "$seconds" "${launched_by[@]}" "$MPIRUN" -n "$ranks" "$@" ;;
  esac >"$tap_dir/out" 2>"$tap_dir/err" </dev/null
}

plain() {
  local ranks=$1
  shift
  limited_ranks "$ranks" env "$@" || report_failure "$?"
}

with_strata() {
  local ranks=$1
  shift
  limited_ranks "$ranks" env LD_PRELOAD="$preload" STRATA_STATS=1 "$@" || report_failure "$?"
}

# Its launcher lets a job that lost a rank go on, and hands variables to ranks that are spawned.
is_open_mpi_4() { [[ $("$MPIRUN" --version 2>&1) == *"(Open"*") 4."* ]]; }

# native_can NAME RANKS COMMAND...: whether it runs without strata, as plain runs it. If not, NAME is left out, which is
# said: what an MPI library cannot do by itself is different in each.
native_can() {
  local name=$1
  shift
  ! plain "$@" >"$tap_dir/report" || return 0
  skip "$name" "without strata it fails too: $(grep -hm 1 -iE 'error|fail|support|exceeded|abort' "$tap_dir/err" | tr -d '#')"
  return 1
}

# differing RANKS OPTIONS OTHERS COMMAND...: as with_strata, with OPTIONS on rank 0 and OTHERS on the others. (Launchers
# have a way to say that, with which that of Open MPI 5.0.7 crashes.)
differing() {
  local ranks=$1
  shift
  # shellcheck disable=SC2016
  with_strata "$ranks" sh -c 'options=$1
    [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 0 ] || options=$2
    shift 2
    exec env $options "$@"' sh "$@"
}

report_failure() {
  tail -n 30 "$tap_dir/out" "$tap_dir/err"
  return "$1"
}

# python_with_this_library MODULES: whether Python has them, and an mpi4py that was built for this MPI library; if not,
# $tap_dir/reason says so in its last line.
python_with_this_library() {
  "$PYTHON3" -c "
import sys
import $1
from mpi4py import MPI
vendor = MPI.get_vendor()[0]
if vendor.replace(' ', '').lower() != '$MPI_FLAVOUR':
    sys.exit('its mpi4py was built for %s' % vendor)" 2>"$tap_dir/reason"
}

# tally SECTION ROWS calls|messages|bytes: 0 if there is no such row. A section's head names its columns.
tally() {
  awk -v section="$1" -v rows="$2" -v column="$3" '
    /^[^ ]/ {
      inside = index($0, section "  ") == 1
      back = $NF == column ? 0 : 1
    }
    inside && /^  / {
      name = $0
      gsub(/^ +| +([0-9]+|-) +([0-9]+|-) *$/, "", name)
      if (name ~ rows) sum += $(NF - back)
    }
    END { printf "%d\n", sum }' "$tap_dir/err"
}

# at_least NAME SEEN LEAST
at_least() {
  if [ "$2" -ge "$3" ]; then
    ok "$1"
  else
    not_ok "$1"
    echo "$2, wanted are at least $3" | comment
    comment <"$tap_dir/err"
  fi
}

# decided: whether the last run's only size was decided, by what STRATA_LOG=choice says; once, and once more at most for
# each time that a look had all ways tried anew.
decided() {
  local times anew
  times=$(grep -c '^strata: .* measured)' "$tap_dir/err")
  anew=$(grep -c 'all ways are tried anew' "$tap_dir/err")
  [ "$times" -ge 1 ] && [ "$times" -le $((1 + anew)) ]
}
