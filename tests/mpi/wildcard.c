// SPDX-License-Identifier: BSD-3-Clause
// An unmodified MPI program whose rank 0 receives from any rank with any tag, right after MPI_Init, and then adds.
// Prints "wildcard: right" if it saw its own messages only and all sums were right.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, right = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int turn = 0; turn < 10; ++turn) {
    if (rank == 0) {
      for (int other = 1; other < ranks; ++other) {
        MPI_Status status;
        int got[4] = {-1, -1, -1, -1}, count = 0;
        MPI_Recv(got, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        right &= count == 1 && got[0] == status.MPI_SOURCE * 100 + turn && status.MPI_TAG == turn;
      }
    } else {
      const int mine = rank * 100 + turn;
      MPI_Send(&mine, 1, MPI_INT, 0, turn, MPI_COMM_WORLD);
    }
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    right &= sum == ranks * (ranks - 1) / 2;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && right) printf("wildcard: right\n");
  MPI_Finalize();
  return !right;
}
