// SPDX-License-Identifier: BSD-3-Clause
// Calls for a number of seconds, by rank 0's clock, and then for as long as a file is there, with every element
// checked. Rank 0 prints "lasting: begun" after some calls, and "lasting: right" in the end.
//
//     lasting SECONDS ELEMENTS [FILE]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  const int count = argc > 2 ? atoi(argv[2]) : 100;
  int rank, ranks, over = 0;
  long wrong = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
  const double begin = MPI_Wtime();
  for (int call = 0; !over; ++call) {
    for (int i = 0; i < count; ++i)
      in[i] = rank + i % 7 + call;
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i)
      wrong += out[i] != ranks * (ranks - 1) / 2 + ranks * (i % 7 + call);
    if (call % 16 != 15) continue;
    over = MPI_Wtime() - begin > seconds && (argc <= 3 || access(argv[3], F_OK) != 0);
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (call != 15 || rank != 0) continue;
    printf("lasting: begun\n");
    fflush(stdout);
  }
  MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("lasting: %s\n", all == 0 ? "right" : "wrong");
  free(in);
  free(out);
  MPI_Finalize();
  return wrong != 0;
}
