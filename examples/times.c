// SPDX-License-Identifier: BSD-3-Clause
// Times MPI_Allreduce over a range of sizes: an ordinary MPI program that knows nothing of strata.
//
//     mpirun -n 4 ./times [smallest bytes] [largest bytes] [seconds per size]
//     mpirun -n 4 strata-run ./times …
//
// Rank 0 prints a line per size, "bytes microseconds": the median over batches of the mean time of a call, and at the
// end "errors N", from a check of the sums.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_batches = 1000 };

static int ascending(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}

// Seconds of one call, over `calls` calls back to back.
static double batch(const float* in, float* out, int count, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i)
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  return (MPI_Wtime() - begin) / calls;
}

// The median time of a call; rank 0 decides how many calls make a batch.
static double time_of(const float* in, float* out, int count, double seconds) {
  static double times[most_batches];
  for (int i = 0; i < 4; ++i)
    batch(in, out, count, 1);
  double once = batch(in, out, count, 4);
  int plan[2] = {1 + (int)(100e-6 / (once + 1e-9)), 0};
  if (plan[0] > 1000) plan[0] = 1000;
  plan[1] = 3 + (int)(seconds / (once * plan[0] + 20e-6));
  if (plan[1] > most_batches) plan[1] = most_batches;
  MPI_Bcast(plan, 2, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < plan[1]; ++i)
    times[i] = batch(in, out, count, plan[0]);
  qsort(times, (size_t)plan[1], sizeof times[0], ascending);
  return times[plan[1] / 2];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long smallest = argc > 1 ? atol(argv[1]) : 8;
  const long largest = argc > 2 ? atol(argv[2]) : 1L << 24;
  const double seconds = argc > 3 ? atof(argv[3]) : 0.2;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  float *in = malloc((size_t)largest), *out = malloc((size_t)largest);
  if (in == NULL || out == NULL || smallest < 4) MPI_Abort(MPI_COMM_WORLD, 1);
  const long most = largest / (long)sizeof(float);
  for (long i = 0; i < most; ++i)
    in[i] = (float)(rank + i % 7);
  long errors = 0;
  for (long bytes = smallest; bytes <= largest; bytes *= 4) {
    const int count = (int)(bytes / (long)sizeof(float));
    const double time = time_of(in, out, count, seconds);
    for (long i = 0; i < count; ++i)
      errors += out[i] != (float)(ranks * (ranks - 1) / 2 + ranks * (i % 7));
    if (rank == 0) {
      printf("%ld %.3f\n", bytes, time * 1e6);
      fflush(stdout);
    }
  }
  long all_errors = 0;
  MPI_Reduce(&errors, &all_errors, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("errors %ld\n", all_errors);
  free(in);
  free(out);
  MPI_Finalize();
  return errors != 0;
}
