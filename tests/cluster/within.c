// SPDX-License-Identifier: BSD-3-Clause
// Calls MPI_Allreduce on the communicator of each node, never on that of all ranks.
//
//     within [calls] [count]
//
// Prints "within: right" from rank 0, or exits with 1.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 10;
  const int count = argc > 2 ? atoi(argv[2]) : 1000;
  int rank, ranks, world_rank;
  MPI_Comm node;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &ranks);
  int *in = malloc((size_t)count * sizeof *in + 1), *out = malloc((size_t)count * sizeof *out + 1);

  int wrong = 0;
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < count; ++i)
      in[i] = rank + i % 7 + call;
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, node);
    for (int i = 0; i < count; ++i)
      wrong += out[i] != ranks * (ranks - 1) / 2 + ranks * (i % 7 + call);
  }

  int all_wrong = 0;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (world_rank == 0) printf("within: %s\n", all_wrong == 0 ? "right" : "wrong");
  free(in);
  free(out);
  MPI_Comm_free(&node);
  MPI_Finalize();
  return wrong != 0;
}
