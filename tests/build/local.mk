# SPDX-License-Identifier: BSD-3-Clause
dist_check_SCRIPTS += \
  tests/build/exports_test \
  tests/build/install_test \
  tests/build/shipping_test
# Needs two builds: `./quickstart check` runs it.
EXTRA_DIST += tests/build/side_by_side_test
