# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of the tools share, after tap.sh.

# These are no options, and strata would name them as unknown.
export -n STRATA_SOURCE STRATA_BUILD STRATA_SANITIZE_FLAGS

# shellcheck disable=SC2034 # used by the tests
bin=$STRATA_BUILD/bin

# refuses_in_one_line NAME PATTERN COMMAND...: status 2, one line on standard error that matches, nothing on standard
# output.
refuses_in_one_line() {
  local name=$1 pattern=$2 status=0
  shift 2
  "$@" >"$tap_dir/out" 2>"$tap_dir/err" || status=$?
  equal "$name: the status is 2" "$status" 2
  equal "$name: standard output is empty" "$(cat "$tap_dir/out")" ""
  equal "$name: one line" "$(wc -l <"$tap_dir/err" | tr -d ' ')" 1
  contains "$name: the line says why" "$tap_dir/err" "$pattern"
}

# json FILE EXPRESSION: the value of a Python expression over the document `d`, as Python prints it.
json() {
  "$PYTHON3" -c 'import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
print(eval(sys.argv[2]))' "$1" "$2"
}

# well_formed FILE: an XML document whose root is svg.
well_formed() {
  "$PYTHON3" -c 'import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
sys.exit(0 if root.tag == "{http://www.w3.org/2000/svg}svg" and len(root) > 5 else 1)' "$1"
}

needs_python() { [ -n "$PYTHON3" ] || skip_all "configure found no Python 3"; }
needs_tool() { [ -x "$bin/$1" ] || skip_all "$1 is not built: configure's summary says why"; }
