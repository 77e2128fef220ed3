# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/topo/device_place.cc src/topo/device_place.h \
  src/topo/groups.cc src/topo/groups.h \
  src/topo/hierarchy.cc src/topo/hierarchy.h \
  src/topo/hierarchy_by_hand.cc \
  src/topo/link_matrix.cc src/topo/link_matrix.h \
  src/topo/link_pairs.cc src/topo/link_pairs.h \
  src/topo/local_facts.cc src/topo/local_facts.h \
  src/topo/outliers.cc src/topo/outliers.h \
  src/topo/racks.cc src/topo/racks.h \
  src/topo/regular.cc src/topo/regular.h \
  src/topo/tree.cc src/topo/tree.h
hwloc_sources += \
  src/topo/hwloc/hwloc.cc src/topo/hwloc/place.h
if HAVE_PUGIXML
libstrata_tools_a_SOURCES += src/topo/drawing_svg.cc src/topo/drawing_svg.h
endif
