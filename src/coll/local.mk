# SPDX-License-Identifier: BSD-3-Clause
libstrata_core_a_SOURCES += \
  src/coll/algorithm.h \
  src/coll/bine.cc \
  src/coll/binomial.cc \
  src/coll/circulant.cc \
  src/coll/direct.cc \
  src/coll/double_binary_tree.cc \
  src/coll/families.cc \
  src/coll/families.h \
  src/coll/negabinary.cc \
  src/coll/negabinary.h \
  src/coll/recursive_doubling.cc \
  src/coll/recursive_halving.cc \
  src/coll/recursive_multiplying.cc \
  src/coll/registry.cc \
  src/coll/ring.cc \
  src/coll/swing.cc \
  src/coll/torus.cc
