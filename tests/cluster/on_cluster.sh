# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by the tests of strata between nodes of the emulated cluster; sources tests/mpi/runs.sh.
#
#   on_cluster --nodes 2 --ranks 2 -- STRATA_MODE=always "$program" 5     with the preload and its statistics for tally
#   has_ucx                                              whether this build has a module for UCX: yes or no
#   other                                                the transport between nodes, then
# shellcheck source=tests/mpi/runs.sh
. "$STRATA_SOURCE/tests/mpi/runs.sh"

tool=$STRATA_SOURCE/tests/cluster/emulated-cluster
[ "$MPI_FLAVOUR" = openmpi ] || skip_all "these programs are built for $MPI_FLAVOUR; the mappings need Open MPI"
if ! "$tool" check >"$tap_dir/check" 2>&1 && [ "$(id -u)" != 0 ]; then
  skip_all "$(cat "$tap_dir/check")"
fi
# shellcheck disable=SC2034 # used by the tests
has_ucx=no other=mpi
# shellcheck disable=SC2034
[ ! -e "$STRATA_BUILD/lib/strata/ucx.so" ] || has_ucx=yes other=ucx

# on_cluster FLAG... -- [NAME=VALUE...] COMMAND...: with strata, its options, and its statistics for tally.
on_cluster() {
  local flags=(--launcher "$MPIRUN" --timeout 40 --env "LD_PRELOAD=$preload" --env STRATA_STATS=1 --env STRATA_TUNE=model)
  while [ "$1" != -- ]; do
    flags+=("$1")
    shift
  done
  shift
  while [[ "$1" = [A-Z]*=* ]]; do
    flags+=(--env "$1")
    shift
  done
  timeout -k 10 60 "$tool" run "${flags[@]}" -- "$@" >"$tap_dir/out" 2>"$tap_dir/err" </dev/null || report_failure "$?"
}
