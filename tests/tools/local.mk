# SPDX-License-Identifier: BSD-3-Clause
dist_check_SCRIPTS += \
  tests/tools/grid_test \
  tests/tools/manual_test \
  tests/tools/predictions_test \
  tests/tools/strata_info_job_test \
  tests/tools/strata_info_test \
  tests/tools/strata_perf_test \
  tests/tools/strata_run_test \
  tests/tools/strata_probe_test \
  tests/tools/strata_sim_test \
  tests/tools/strata_tune_test
EXTRA_DIST += tests/tools/tools.sh tests/tools/two_gpus.xml tests/tools/two_packages.xml
