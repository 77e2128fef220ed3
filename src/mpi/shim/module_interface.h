/* SPDX-License-Identifier: BSD-3-Clause */
/* What the shim and the module for an MPI library tell each other.
 *
 * The shim serves every MPI library, so it knows none of their handle types: a handle is passed on as it came, in a
 * register of pointer size. That holds for handles that are pointers (Open MPI) and for 32-bit integers (the MPICH
 * ABI) on the 64-bit ABIs of x86-64, AArch64, POWER and RISC-V, where the upper half of such a register is ignored. */
#ifndef STRATA_MPI_SHIM_MODULE_INTERFACE_H
#define STRATA_MPI_SHIM_MODULE_INTERFACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void* strata_mpi_handle;

typedef int (*strata_mpi_allreduce_function)(const void* send, void* receive, int count, strata_mpi_handle datatype,
                                             strata_mpi_handle operation, strata_mpi_handle communicator);
/** MPI_Allreduce_c, whose count is an MPI_Count (MPI 4.0, 6.9.6). */
typedef int (*strata_mpi_allreduce_c_function)(const void* send, void* receive, int64_t count,
                                               strata_mpi_handle datatype, strata_mpi_handle operation,
                                               strata_mpi_handle communicator);
typedef int (*strata_mpi_init_function)(int* argc, char*** argv);
typedef int (*strata_mpi_init_thread_function)(int* argc, char*** argv, int required, int* provided);
typedef int (*strata_mpi_finalize_function)(void);

/** The MPI library's own entry points, found in the object that defines them. */
struct strata_mpi_native {
  strata_mpi_allreduce_function allreduce;
  strata_mpi_allreduce_c_function allreduce_c; /**< Null in MPI libraries before MPI 4.0. */
  strata_mpi_init_function init;
  strata_mpi_init_thread_function init_thread;
  strata_mpi_finalize_function finalize;
  const char* library; /**< Path of the MPI library. */
};

/** What a module does in their place. `introspect` returns the struct of strata_mpi.h. */
struct strata_mpi_module {
  strata_mpi_allreduce_function allreduce;
  strata_mpi_allreduce_c_function allreduce_c;
  void (*before_init)(void);
  void (*after_init)(int code); /**< What the MPI library's returned. */
  void (*before_finalize)(void);
  const void* (*introspect)(void);
};

/** The module's only exported function, strata_mpi_module_v3. `native` stays valid. Null: the module cannot run here.
 */
typedef const struct strata_mpi_module* (*strata_mpi_module_entry)(const struct strata_mpi_native* native);

#ifdef __cplusplus
}
#endif

#endif
