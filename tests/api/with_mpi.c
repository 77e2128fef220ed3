/* SPDX-License-Identifier: BSD-3-Clause */
/* A context of a communicator, through the function in strata_mpi.h. Rank 0 prints "sums are right". */
#include <mpi.h>

#include <strata/strata_mpi.h>

#include <stdio.h>

int main(int argc, char** argv) {
  strata_context_t* context = NULL;
  int rank = 0, ranks = 0, wrong = 0, all_wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strata_context_create_mpi(MPI_COMM_WORLD, &context) != STRATA_OK) {
    fprintf(stderr, "%s\n", strata_last_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int call = 0; call < 10; ++call) {
    double values[3000];
    for (int k = 0; k < 3000; ++k)
      values[k] = rank + k + call;
    wrong += strata_allreduce(context, STRATA_IN_PLACE, values, 3000, STRATA_FLOAT64, STRATA_SUM) != STRATA_OK;
    for (int k = 0; k < 3000; ++k)
      wrong += values[k] != (double)(ranks * (ranks - 1) / 2 + ranks * (k + call));
  }
  strata_context_destroy(context);
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all_wrong == 0) puts("sums are right");
  MPI_Finalize();
  return 0;
}
