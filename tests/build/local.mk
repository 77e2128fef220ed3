# SPDX-License-Identifier: BSD-3-Clause
dist_check_SCRIPTS += \
  tests/build/configure_test \
  tests/build/exports_test \
  tests/build/install_test \
  tests/build/main_job_test \
  tests/build/shipping_test \
  tests/build/side_by_side_test \
  tests/build/wrappers_test
EXTRA_DIST += tests/build/configure.sh
