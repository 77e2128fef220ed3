/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the MPI library, PMPI tools and the module, in whatever way they came into this process. */
#ifndef STRATA_MPI_SHIM_LOCATE_H
#define STRATA_MPI_SHIM_LOCATE_H

#include "mpi/shim/module_interface.h"

#include <stddef.h>

/** Finds the MPI library among the loaded objects, also one that was opened RTLD_LOCAL: the first object that itself
 *  defines PMPI_Get_library_version and PMPI_Allreduce. Returns 0 and fills `native`, or -1. */
int strata_shim_find_mpi(struct strata_mpi_native* native);

/** The MPI library's own definition of `name`, or null. */
void* strata_shim_find_native(const char* name, const char* mpi_library);

/** The next definition of `name` after this library that is not the MPI library's own, or null. */
void* strata_shim_find_tool(const char* name, const char* mpi_library);

/** Writes the path of the module for the MPI library at `mpi_library`:
 *  <module path>/mpi-<its soname>.so. Returns 0, or -1 when it cannot be told. */
int strata_shim_module_path(const char* mpi_library, char* path, size_t room);

#endif
