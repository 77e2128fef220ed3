# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by the tests that run configure; sources tests/tap.sh.
#
#   flags_of MPI_LIBS             what configure found for this build, as its Makefile has it
#   configure_in FOLDER WORD...   configure in FOLDER, which is made anew, with these options and variables; what this
#                                 build's configure knows of the compilers, the C library and fmt, it need not find out
#                                 again

# shellcheck source=tests/tap.sh
. "$STRATA_SOURCE/tests/tap.sh"

flags_of() { sed -n "s/^$1 = *//p" "$STRATA_BUILD/Makefile"; }

# Options and variables that it was called with, and paths of programs, are not for the others.
sed -n '/^ac_cv_\(env\|path\)_/d; s/^\(ac\|am\|strata\)_cv_/&/p' "$STRATA_BUILD/config.log" >"$tap_dir/known"

configure_in() {
  local folder=$1
  shift
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$tap_dir/known" "$folder/config.cache"
  (unset MAKEFLAGS && cd "$folder" && "$STRATA_SOURCE/configure" --config-cache "$@")
}
