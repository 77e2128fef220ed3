# SPDX-License-Identifier: BSD-3-Clause
EXTRA_DIST += perf/crowded perf/grid perf/jobs.py perf/launches perf/main-job perf/nodes perf/overheads \
  perf/predictions perf/published perf/published-machines.json perf/racks perf/steady_calls.c perf/throttled \
  perf/timed_calls.c
