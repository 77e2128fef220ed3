# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # tap_dir comes from tests/tap.sh
# What a job that ends badly leaves, and what those ranks have to say that survive the victim of tests/mpi/victim.c; for
# tests that source tests/mpi/runs.sh. Their programs are copies in $tap_dir, to be told from others by their path.

# ranks_of NAME: the processes of programs whose names begin so.
ranks_of() { pgrep -f "^$tap_dir/$1" | sort; }

# gone NAME: none of them is left.
gone() {
  for _ in $(seq 100); do
    [ -n "$(ranks_of "$1")" ] || return 0
    sleep 0.1
  done
  ps -o pid,ppid,stat,args -p "$(ranks_of "$1" | xargs | tr ' ' ,)"
  return 1
}

in_memory() {
  find /dev/shm -mindepth 1 ! -name 'mpich*' 2>/dev/null
  find /run/shm /tmp -maxdepth 1 -name '*strata*' ! -name 'strata-test.*' 2>/dev/null
}
remember_memory() { in_memory | sort >"$tap_dir/before"; }
# nothing_new: in shared memory and /tmp since remember_memory. Files of other jobs of this machine come and go.
nothing_new() {
  for _ in $(seq 50); do
    in_memory | sort | comm -13 "$tap_dir/before" - >"$tap_dir/new"
    [ -s "$tap_dir/new" ] || return 0
    sleep 0.1
  done
  cat "$tap_dir/new"
  return 1
}

# survived NAME RANKS VICTIM before|in|after: by $tap_dir/out and $tap_dir/err of a job of so many ranks. Whether the
# call in which the victim dies still succeeds on a rank is open; if it does it is right, and the next one fails.
survived() {
  local name=$1 ranks=$2 victim=$3 when=$4 call=6 rank first last failed calls=
  case $when in
  before) first=6 last=6 ;;
  # Others are in the same call then, or have to leave the one before, or have done with it.
  in)
    call=$(sed -n "s/^rank $victim: killed in call \([0-9]*\)\$/\1/p" "$tap_dir/out")
    first=$((call - 1)) last=$((call + 1))
    ;;
  after) first=6 last=7 ;;
  esac
  for ((rank = 0; rank < ranks; rank++)); do
    [ "$rank" != "$victim" ] || continue
    failed=$(sed -n "s/^rank $rank: call \([0-9]*\): error, handled 1\$/\1/p" "$tap_dir/out")
    calls+="${calls:+|}$((failed + 1))" # strata counts them from 1 on
    check "$name: rank $rank gets an error then, handled once" \
      test "${failed:--1}" -ge $first -a "${failed:--1}" -le $last
    contains "$name: rank $rank was right before" "$tap_dir/out" "^rank $rank: call $((failed - 1)): right\$"
    contains "$name: rank $rank gets one again at the next call" "$tap_dir/out" \
      "^rank $rank: call $((failed + 1)): error, handled 2\$"
  done
  equal "$name: no sum is wrong" "$(grep 'wrong' "$tap_dir/out")" ""
  # The others may see each other end first.
  contains "$name: it is named" "$tap_dir/err" \
    "^strata: (rank $victim .* call ($calls) |.* call ($calls) .*: rank $victim is gone)"
}
