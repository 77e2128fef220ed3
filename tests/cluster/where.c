// SPDX-License-Identifier: BSD-3-Clause
// Prints a line for each rank, in rank order: where it runs, and how many ranks MPI believes to share its node.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, sharing;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &sharing);
  MPI_Comm_free(&node);

  char line[160], host[64] = "";
  gethostname(host, sizeof host - 1);
  snprintf(line, sizeof line, "rank %d host %s sharing %d", rank, host, sharing);
  if (rank != 0) {
    MPI_Send(line, sizeof line, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  } else {
    puts(line);
    for (int peer = 1; peer < ranks; peer++) {
      MPI_Recv(line, sizeof line, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      puts(line);
    }
  }
  MPI_Finalize();
  return 0;
}
