// SPDX-License-Identifier: BSD-3-Clause
// Rank 1 comes late to one call, and one more than strata serves from the first on.
//
//     late SECONDS [elements]
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The whole time, though a signal comes. */
static void rest(int seconds) {
  struct timespec left = {seconds, 0};
  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int seconds = argc > 1 ? atoi(argv[1]) : 1, count = argc > 2 ? atoi(argv[2]) : 4;
  int rank = 0, ranks = 1, right = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
  for (int turn = 0; turn < 6; ++turn) {
    if (turn == 4 && rank == 1) rest(seconds);
    for (int i = 0; i < count; ++i)
      in[i] = rank + turn + i;
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i)
      right &= out[i] == ranks * (ranks - 1) / 2 + ranks * (turn + i);
  }
  int all = 0;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0 && all) printf("late: right\n");
  free(in);
  free(out);
  MPI_Finalize();
  return !right;
}
