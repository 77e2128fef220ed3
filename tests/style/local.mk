# SPDX-License-Identifier: BSD-3-Clause
dist_check_SCRIPTS += \
  tests/style/layers_test \
  tests/style/sources_test \
  tests/style/formats_test
EXTRA_DIST += \
  tests/style/tree.py
