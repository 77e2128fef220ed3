// SPDX-License-Identifier: BSD-3-Clause
// A program that may have more rights than its user: linked with libstrata-mpi, because the dynamic linker preloads
// nothing into such a program.
//
//     rights [largest count]
//
// Prints from rank 0 whether it is one, whether strata is in it, and whether sums are right.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static int mapped(const char* word) {
  char line[1024];
  int found = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    found |= strstr(line, word) != NULL;
  if (maps != NULL) fclose(maps);
  return found;
}

int main(int argc, char** argv) {
  enum { calls = 30, most = 50000 };
  static int in[most], out[most];
  const int asked = argc > 1 ? atoi(argv[1]) : most, largest = asked < most ? asked : most;
  int rank, ranks, wrong = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int call = 0; call < 3 * calls; ++call) {
    const int count = call % 3 == 0 ? 1 : call % 3 == 1 ? 1000 : largest;
    for (int i = 0; i < count; ++i)
      in[i] = rank * call + i;
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i)
      wrong += out[i] != ranks * (ranks - 1) / 2 * call + ranks * i;
  }
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("rights: %s, ", getauxval(AT_SECURE) != 0 ? "more than its user's" : "its user's");
    printf("strata is %s, %d wrong\n", mapped("/strata/mpi") ? "loaded" : "not loaded", all);
  }
  MPI_Finalize();
  return all != 0;
}
