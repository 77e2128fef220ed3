// SPDX-License-Identifier: BSD-3-Clause
// Makes and frees communicators and calls MPI_Allreduce on each, with what the process then holds.
//
//     communicators loop|alive NUMBER
//
// loop: one after the other. alive: all at once. Prints from rank 0
// "communicators: NUMBER right, N kB more, M descriptors more", compared with a tenth of them. The communicator that
// they are made from has had calls before. Of loop it also prints the mean time from making to freeing one, for
// information. "communicators: the next would be A and B" are the numbers (of Fortran) that the MPI library gives then.
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long memory_kb(void) { // resident, shared memory included
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  long kb = 0;
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (sscanf(line, "VmRSS: %ld", &kb) == 1) break;
  if (status != NULL) fclose(status);
  return kb;
}

static long descriptors(void) {
  DIR* folder = opendir("/proc/self/fd");
  long count = 0;
  while (folder != NULL && readdir(folder) != NULL)
    ++count;
  if (folder != NULL) closedir(folder);
  return count;
}

static int use(MPI_Comm communicator, int number) {
  enum { most = 20000 };
  static int in[most], out[most];
  int rank, ranks, wrong = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  const int counts[] = {1, 700, 1, most};
  for (int call = 0; call < 4; ++call) {
    const int count = counts[call];
    for (int i = 0; i < count; ++i)
      in[i] = rank + number + i;
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, communicator);
    for (int i = 0; i < count; ++i)
      wrong += out[i] != ranks * (ranks - 1) / 2 + ranks * (number + i);
  }
  return wrong;
}

/* Of a duplicate and a part of it. */
static void print_next_numbers(int rank) {
  MPI_Comm duplicate, part;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &part);
  if (rank == 0)
    printf("communicators: the next would be %ld and %ld\n", (long)MPI_Comm_c2f(duplicate), (long)MPI_Comm_c2f(part));
  MPI_Comm_free(&part);
  MPI_Comm_free(&duplicate);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int alive = argc > 1 && strcmp(argv[1], "alive") == 0;
  const int number = argc > 2 ? atoi(argv[2]) : 100;
  int rank, wrong = 0;
  long memory = 0, open = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm* communicators = malloc((size_t)number * sizeof *communicators);
  wrong += use(MPI_COMM_WORLD, 0);
  double first_tenth = 0, last_tenth = 0; // seconds
  for (int i = 0; i < number; ++i) {
    const double begin = MPI_Wtime();
    if (i == number / 10) memory = memory_kb(), open = descriptors();
    // Also some in which the ranks are not all, or have another order.
    if (i % 10 == 9)
      MPI_Comm_split(MPI_COMM_WORLD, i / 10 % 2 == 0 ? rank % 2 : 0, -rank, &communicators[i]);
    else
      MPI_Comm_dup(MPI_COMM_WORLD, &communicators[i]);
    wrong += use(communicators[i], i);
    if (alive && i > 0) wrong += use(communicators[i / 2], i);
    if (!alive) MPI_Comm_free(&communicators[i]);
    if (i < number / 10) first_tenth += MPI_Wtime() - begin;
    if (i >= number - number / 10) last_tenth += MPI_Wtime() - begin;
  }
  memory = memory_kb() - memory;
  open = descriptors() - open;
  print_next_numbers(rank);
  for (int i = 0; alive && i < number; ++i)
    MPI_Comm_free(&communicators[i]);
  free(communicators);

  long more[2] = {memory, open}, most[2] = {0, 0};
  int all_wrong = 0;
  MPI_Reduce(more, most, 2, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("communicators: %d %s, %ld kB more, %ld descriptors more\n", number, all_wrong == 0 ? "right" : "wrong",
           most[0], most[1]);
    if (!alive && number >= 10)
      printf("communicators: the first tenth took %.1f us each, the last tenth %.1f us\n",
             first_tenth * 1e6 / (number / 10), last_tenth * 1e6 / (number / 10));
  }
  MPI_Finalize();
  return wrong != 0;
}
