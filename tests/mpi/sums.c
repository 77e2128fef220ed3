// SPDX-License-Identifier: BSD-3-Clause
// An unmodified MPI program that makes a known number of calls of one size, float sums, and checks every element.
//
//     sums [calls] [count] [in-place]
//
// Prints "sums: CALLS calls of COUNT are right" from rank 0, or exits with 1.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 10;
  const int count = argc > 2 ? atoi(argv[2]) : 1000;
  const int in_place = argc > 3 && strcmp(argv[3], "in-place") == 0;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  float *send = malloc((size_t)count * sizeof *send + 1), *sum = malloc((size_t)count * sizeof *sum + 1);

  int wrong = 0;
  for (int call = 0; call < calls; ++call) {
    float* from = in_place ? sum : send;
    for (int i = 0; i < count; ++i)
      from[i] = (float)((rank + 1) * (i % 7 + call % 5));
    MPI_Allreduce(in_place ? MPI_IN_PLACE : (void*)send, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i)
      wrong += sum[i] != (float)(ranks * (ranks + 1) / 2 * (i % 7 + call % 5));
  }

  int all_wrong = 0;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    if (all_wrong == 0)
      printf("sums: %d calls of %d are right\n", calls, count);
    else
      printf("sums: %d elements are wrong\n", all_wrong);
  }
  free(send);
  free(sum);
  MPI_Finalize();
  return wrong != 0;
}
