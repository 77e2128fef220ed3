# SPDX-License-Identifier: BSD-3-Clause
dist_man_MANS += \
  man/strata-info.1 \
  man/strata-perf.1 \
  man/strata-probe.1 \
  man/strata-profile.5 \
  man/strata-run.1 \
  man/strata-sim.1 \
  man/strata.7 \
  man/strata_allreduce.3
# Until an option reads tables, their page is not installed.
EXTRA_DIST += man/strata-table.5
