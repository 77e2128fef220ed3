// SPDX-License-Identifier: BSD-3-Clause
// The MPI library's all-reduce, also for buffers that it cannot reach.
#pragma once

#include "mpi/state.h"

namespace strata::mpi {

/// What the program passed, with the count as wide as MPI_Count.
struct Arguments {
  const void* send;
  void* receive;
  std::int64_t count;
  MPI_Datatype datatype;
  MPI_Op operation;
  MPI_Comm communicator;
};

int call_native(const State& state, const Arguments& given);

/// The same in a process that uses an accelerator: as STRATA_DEVICE_NATIVE wants it, with copies in host memory of what
/// is in device memory. Any type and operation; one rank may do so and another not.
int call_native_beside_device(State& state, const Arguments& given);

/// Whether the MPI library says that it takes buffers in CUDA's memory.
bool native_knows_cuda(const State& state);

/// Errors are the communicator's business, as the MPI library's own. Returns `code`; the line is written once.
int raise_error(State& state, MPI_Comm communicator, int code, const std::string& line);

} // namespace strata::mpi
