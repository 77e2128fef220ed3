// SPDX-License-Identifier: BSD-3-Clause
// For perf/throttled: sums of floats, one after the other, for as long as FILE is there.
//
//     steady_calls ELEMENTS FILE
//
// Rank 0 makes FILE.begun after its first call, and in the end FILE.calls, with a line "BEGAN SECONDS" for each call:
// when it began there, by the clock that all processes of the machine share, and how long it took. The exit status is 1
// if a last result is wrong.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct call {
  double began, seconds;
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// "FILE.begun" and the like, open to be written.
static FILE* beside(const char* file, const char* suffix) {
  char path[4096];
  snprintf(path, sizeof path, "%s%s", file, suffix);
  FILE* opened = fopen(path, "w");
  if (opened == NULL) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return opened;
}

static void write_calls(const char* file, const struct call* calls, size_t count) {
  FILE* written = beside(file, ".calls");
  for (size_t i = 0; i < count; ++i)
    fprintf(written, "%.6f %.9f\n", calls[i].began, calls[i].seconds);
  if (fclose(written) != 0) {
    perror(file);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  enum { look = 8 }; // calls from one look at the file to the next
  MPI_Init(&argc, &argv);
  if (argc != 3) {
    fprintf(stderr, "usage: steady_calls ELEMENTS FILE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int elements = atoi(argv[1]);
  int rank, ranks, over = 0, wrong = 0, all_wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  float *in = malloc((size_t)elements * sizeof *in), *out = malloc((size_t)elements * sizeof *out);
  for (int i = 0; i < elements; ++i)
    in[i] = (float)(rank + i % 7);
  struct call* calls = NULL;
  size_t count = 0, room = 0;
  while (!over) {
    if (count == room) {
      room = 2 * room + 4096;
      calls = realloc(calls, room * sizeof *calls);
    }
    calls[count].began = now();
    MPI_Allreduce(in, out, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    calls[count].seconds = now() - calls[count].began;
    if (count == 0 && rank == 0) fclose(beside(argv[2], ".begun"));
    if (++count % look != 0) continue;
    over = access(argv[2], F_OK) != 0;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  for (int i = 0; i < elements; ++i)
    wrong |= out[i] != (float)(ranks * (ranks - 1) / 2 + ranks * (i % 7));
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  if (rank == 0) write_calls(argv[2], calls, count);
  free(in);
  free(out);
  free(calls);
  MPI_Finalize();
  return all_wrong;
}
