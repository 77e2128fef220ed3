// SPDX-License-Identifier: BSD-3-Clause
// Two halves of a job that meet as if they were two jobs: one opens a port and accepts, the other connects; then they
// sum over the communicator between them, over a merged one and over their own halves.
// Prints "connected: right" from the first rank of all.
#include "rank_sums.h"

#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, remote, wrong = 0;
  MPI_Comm half, between, all;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int accepts = rank % 2 == 0;
  MPI_Comm_split(MPI_COMM_WORLD, accepts, rank, &half);
  MPI_Comm_size(half, &ranks);
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (accepts)
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &between);
  else
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &between);
  MPI_Comm_remote_size(between, &remote);
  MPI_Intercomm_merge(between, !accepts, &all);
  for (int call = 0; call < 10; ++call) {
    const int count = 1 + call * 2000;
    wrong += wrong_rank_sums(between, remote, count);
    wrong += wrong_rank_sums(all, ranks + remote, count);
    wrong += wrong_rank_sums(half, ranks, count);
  }
  int all_wrong = 0;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(all_wrong == 0 ? "connected: right" : "connected: wrong");
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&between);
  MPI_Comm_free(&half);
  if (rank == 0) MPI_Close_port(port);
  MPI_Finalize();
  return wrong != 0;
}
