// SPDX-License-Identifier: BSD-3-Clause
// Two worlds: all ranks spawn two more, which nobody has preloaded, and work with them in a merged communicator.
// Prints "spawned: right" from the first rank of all.
#include "rank_sums.h"

#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, between, all;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
  else
    between = parent;
  MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
  int rank, ranks, ranks_of_world, wrong = 0, all_wrong = 0;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_of_world);
  for (int call = 0; call < 10; ++call) {
    wrong += wrong_rank_sums(all, ranks, 1 + call * 2000);
    wrong += wrong_rank_sums(MPI_COMM_WORLD, ranks_of_world, 1 + call * 2000);
  }
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, all);
  if (rank == 0) puts(all_wrong == 0 ? "spawned: right" : "spawned: wrong");
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&between);
  MPI_Finalize();
  return wrong != 0;
}
