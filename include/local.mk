# SPDX-License-Identifier: BSD-3-Clause
stratainclude_HEADERS += \
  include/strata/strata.h \
  include/strata/strata_mpi.h
