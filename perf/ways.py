# SPDX-License-Identifier: BSD-3-Clause
"""What strata-tune tells of the ways that it has measured."""

import re

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def ways_in(table):
    """{way: seconds} from the remarks of a table that strata-tune wrote for one size; a way is in the words of
    strata-table(5)."""
    ways = {}
    for line in table.splitlines():
        found = re.match(r"#\s+(?:\S+\s+)?([0-9.]+) (ns|us|ms|s) (\S.*)$", line)
        if found:
            ways[found[3].strip()] = float(found[1]) * UNITS[found[2]]
    return ways
