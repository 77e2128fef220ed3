# SPDX-License-Identifier: BSD-3-Clause
dist_check_SCRIPTS += \
  tests/cluster/cluster_tool_test
mpi_c_sources += \
  tests/cluster/where.c \
  tests/cluster/rate.c
EXTRA_DIST += \
  tests/cluster/emulated-cluster \
  tests/cluster/emulation/cluster.py \
  tests/cluster/emulation/hub.py \
  tests/cluster/emulation/launch.py \
  tests/cluster/emulation/linux.py \
  tests/cluster/emulation/machine.py \
  tests/cluster/emulation/network.py

# Strata between nodes.
mpi_c_sources += tests/cluster/leaves.c tests/cluster/within.c
EXTRA_DIST += tests/cluster/on_cluster.sh
dist_check_SCRIPTS += tests/cluster/strata_on_cluster_test tests/cluster/device_on_cluster_test \
  tests/cluster/faults_on_cluster_test tests/cluster/cards_of_ranks_test tests/cluster/cards_on_cluster_test \
  tests/cluster/links_test \
  tests/cluster/mpich_on_cluster_test
