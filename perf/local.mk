# SPDX-License-Identifier: BSD-3-Clause
EXTRA_DIST += perf/grid perf/launches perf/main-job perf/racks
