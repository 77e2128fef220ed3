// SPDX-License-Identifier: BSD-3-Clause
// Sums whose results are known by a formula, for programs that have communicators of several kinds.
#pragma once

#include <mpi.h>
#include <stdlib.h>

/// Sums `count` numbers of each rank: its number in the communicator plus their place. \return how many results are
/// wrong, if the numbers of `ranks` ranks, from 0 on, were to be summed.
static int wrong_rank_sums(MPI_Comm communicator, int ranks, int count) {
  int rank, wrong = 0, *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
  MPI_Comm_rank(communicator, &rank);
  for (int i = 0; i < count; ++i)
    in[i] = rank + i;
  MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, communicator);
  for (int i = 0; i < count; ++i)
    wrong += out[i] != ranks * (ranks - 1) / 2 + ranks * i;
  free(in);
  free(out);
  return wrong;
}
