# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by the tests that are shell scripts (bash): they print TAP, one line per case, and leave nothing behind.
#
#   . "$STRATA_SOURCE/tests/tap.sh"
#   check "adds on four ranks" run_ranks 4 "$STRATA_BUILD/tests/mpi/adds.mpi"     ok if the command succeeds
#   equal "counts the calls" "$seen" 17                                           ok if both are the same text
#   skip "needs four cores" "this machine has 2"                                  loud: the reason is in the report
#   skip_all "no mpirun"                                                          ends the script
#   at_exit 'rm -f /some/where'                                                   also after a signal
#   tap_done                                                                      last line of the script
#
# The lines tell what failed; the exit status is not 0 only if the script itself broke, which counts as one more.
#
# $tap_dir is a fresh directory that is removed at the end. What a failed command printed is shown as comments.

# By hand, without make: from the build directory, with the environment that Makefile.am gives.
: "${STRATA_SOURCE:?run by make check, or set STRATA_SOURCE and STRATA_BUILD}" "${STRATA_BUILD:?}"
# For the scripts only: the library would call them unknown options.
export -n STRATA_SOURCE STRATA_BUILD STRATA_SANITIZE_FLAGS STRATA_TEST_SECONDS STRATA_OTHER_BUILD STRATA_TEST_SEED \
  STRATA_TEST_LARGE STRATA_FUZZ_SECONDS

tap_number=0
tap_failed=0
tap_cleanups=()
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/strata-test.XXXXXX")

# What Open MPI shares between the ranks of a node it leaves in /dev/shm when its job is killed; here it goes with the
# rest. (The names of versions 4 and 5.)
mkdir -m 1777 "$tap_dir/openmpi"
export OMPI_MCA_btl_vader_backing_directory=$tap_dir/openmpi OMPI_MCA_btl_sm_backing_directory=$tap_dir/openmpi

# What it sends by TCP between the ranks of a node may go nowhere else; its version 5 complains of machines whose other
# interfaces do not reach themselves. (The emulated cluster has its own network.)
export OMPI_MCA_btl_tcp_if_include=lo

# Open MPI refuses root unless told twice.
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

at_exit() { tap_cleanups+=("$1"); }

tap_clean() {
  local status=$? index
  trap - EXIT HUP INT TERM
  for ((index = ${#tap_cleanups[@]} - 1; index >= 0; index--)); do
    eval "${tap_cleanups[index]}" || true
  done
  rm -rf "$tap_dir"
  exit "$status"
}
trap tap_clean EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

ok() {
  tap_number=$((tap_number + 1))
  echo "ok $tap_number - $1"
}

not_ok() {
  tap_number=$((tap_number + 1))
  tap_failed=$((tap_failed + 1))
  echo "not ok $tap_number - $1"
}

skip() {
  tap_number=$((tap_number + 1))
  echo "ok $tap_number - $1 # SKIP $2"
}

skip_all() {
  echo "1..0 # SKIP $1"
  exit 0
}

comment() { sed 's/^/# /'; }

# check NAME COMMAND...: what the command printed is in $tap_dir/output.
check() {
  local name=$1 status=0
  shift
  "$@" >"$tap_dir/output" 2>&1 || status=$?
  if [ "$status" = 0 ]; then
    ok "$name"
  else
    not_ok "$name"
    echo "exit status $status of: $*" | comment
    tail -n 60 "$tap_dir/output" | comment
  fi
  return 0
}

# refuse NAME STATUS COMMAND...: the command must end with this exit status.
refuse() {
  local name=$1 wanted=$2 status=0
  shift 2
  "$@" >"$tap_dir/output" 2>&1 || status=$?
  if [ "$status" = "$wanted" ]; then
    ok "$name"
  else
    not_ok "$name"
    echo "exit status $status, not $wanted, of: $*" | comment
    tail -n 60 "$tap_dir/output" | comment
  fi
  return 0
}

# equal NAME SEEN WANTED
equal() {
  if [ "$2" = "$3" ]; then
    ok "$1"
  else
    not_ok "$1"
    printf 'seen:\n%s\nwanted:\n%s\n' "$2" "$3" | comment
  fi
}

# contains NAME FILE PATTERN: a line of FILE matches the extended regular expression.
contains() {
  if grep -Eq -- "$3" "$2"; then
    ok "$1"
  else
    not_ok "$1"
    printf 'no line matches: %s\n' "$3" | comment
    tail -n 60 "$2" | comment
  fi
}

# run_ranks N COMMAND...: under the launcher that configure found, on this node, with more ranks than cores allowed.
run_ranks() {
  local ranks=$1
  shift
  case $MPI_FLAVOUR in
  openmpi) "$MPIRUN" --oversubscribe -n "$ranks" "$@" ;;
  *) "$MPIRUN" -n "$ranks" "$@" ;;
  esac
}

needs_mpi() { [ -n "$MPIRUN" ] || skip_all "configure found no launcher of an MPI library"; }

tap_done() {
  echo "1..$tap_number"
  [ "$tap_failed" = 0 ] || echo "# $tap_failed of $tap_number failed"
}
