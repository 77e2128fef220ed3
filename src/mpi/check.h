// SPDX-License-Identifier: BSD-3-Clause
// STRATA_CHECK=1: what MPI requires to be equal on all ranks of a call (MPI 4.0, 6.9.1), compared before the call.
#pragma once

#include "mpi/state.h"

namespace strata::mpi {

struct CheckedArguments {
  std::int64_t count;
  MPI_Datatype datatype;
  MPI_Op operation;
};

/// Collective over the record's communicator. If ranks differ, its rank 0 names them, and every rank calls the
/// communicator's error handler and gets the class of the error: MPI_ERR_OP, MPI_ERR_TYPE or MPI_ERR_COUNT. Between two
/// groups (MPI 4.0, 6.9.6), each group has an operation of its own, and rank 0 of each names the ranks of the other.
/// Under MPI_THREAD_MULTIPLE the program orders the calls on a communicator, as MPI asks of it.
int compare_arguments(State& state, CommunicatorRecord& record, const CheckedArguments& mine);

} // namespace strata::mpi
