# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # tap_dir comes from tests/tap.sh
# What the ranks that survive the victim of tests/mpi/victim.c have to say; for tests that source tests/mpi/runs.sh.

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
