// SPDX-License-Identifier: BSD-3-Clause
// Measures what the emulated network gives to the MPI library as it is, to check the emulator:
//
//   rate.mpi ping BYTES       the last rank's bytes per second to rank 0 and back, in one direction at a time
//   rate.mpi allreduce BYTES  milliseconds of an MPI_Allreduce of floats over all ranks
//
// Prints the median of a few rounds, after two that do not count.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UPS = 2, ROUNDS = 5 };

static int ascending(const void* left, const void* right) {
  double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

static void ping(void* buffer, int bytes, int rank, int last) {
  if (rank == 0) {
    MPI_Recv(buffer, bytes, MPI_CHAR, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer, bytes, MPI_CHAR, last, 0, MPI_COMM_WORLD);
  } else if (rank == last) {
    MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int bytes = argc == 3 ? atoi(argv[2]) : 0;
  int pings = argc == 3 && strcmp(argv[1], "ping") == 0;
  if (bytes < 4 || ranks < 2) {
    if (rank == 0) fputs("usage: rate.mpi ping|allreduce BYTES, on at least two ranks\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }

  float *input = calloc(1, (size_t)bytes), *output = malloc((size_t)bytes);
  double seconds[ROUNDS];
  for (int round = -WARM_UPS; round < ROUNDS; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (pings)
      ping(output, bytes, rank, ranks - 1);
    else
      MPI_Allreduce(input, output, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (round >= 0) seconds[round] = MPI_Wtime() - start;
  }
  qsort(seconds, ROUNDS, sizeof seconds[0], ascending);
  double median = seconds[ROUNDS / 2];
  if (rank == 0 && pings) printf("%.0f bytes/s\n", 2.0 * bytes / median);
  if (rank == 0 && !pings) printf("%.2f ms\n", 1000 * median);
  free(input);
  free(output);
  MPI_Finalize();
  return 0;
}
