# SPDX-License-Identifier: BSD-3-Clause
dist_man_MANS += \
  man/strata-info.1 \
  man/strata-perf.1 \
  man/strata-probe.1 \
  man/strata-profile.5 \
  man/strata-run.1 \
  man/strata-sim.1 \
  man/strata-table.5 \
  man/strata-tune.1 \
  man/strata.7 \
  man/strata_allreduce.3
