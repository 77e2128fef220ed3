// SPDX-License-Identifier: BSD-3-Clause
// Two worlds: all ranks spawn two more, which nobody has preloaded, and work with them in a merged communicator.
// Prints "spawned: right" from the first rank of all.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong;

static void use(MPI_Comm communicator, int count) {
  int rank, ranks, *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  for (int i = 0; i < count; ++i)
    in[i] = rank + i;
  MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, communicator);
  for (int i = 0; i < count; ++i)
    wrong += out[i] != ranks * (ranks - 1) / 2 + ranks * i;
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, between, all;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
  else
    between = parent;
  MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
  for (int call = 0; call < 10; ++call) {
    use(all, 1 + call * 2000);
    use(MPI_COMM_WORLD, 1 + call * 2000);
  }
  int rank, all_wrong = 0;
  MPI_Comm_rank(all, &rank);
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, all);
  if (rank == 0) puts(all_wrong == 0 ? "spawned: right" : "spawned: wrong");
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&between);
  MPI_Finalize();
  return wrong != 0;
}
