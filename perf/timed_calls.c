// SPDX-License-Identifier: BSD-3-Clause
// For perf/overheads: prints "first MICROSECONDS", the slowest rank's first MPI_Allreduce of 8 bytes behind a barrier,
// and "passed-on MICROSECONDS", the median of calls that strata leaves to the MPI library (on MPI_COMM_SELF).
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { batches = 201, calls = 2000 };

static int ascending(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}

int main(int argc, char** argv) {
  static double times[batches];
  double value = 1, sum = 0, first, slowest = 0;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 10; ++i) // connections of the MPI library's own
    MPI_Barrier(MPI_COMM_WORLD);
  first = MPI_Wtime();
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  first = MPI_Wtime() - first;
  MPI_Reduce(&first, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  for (int batch = 0; batch < batches; ++batch) {
    const double began = MPI_Wtime();
    for (int call = 0; call < calls; ++call)
      MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    times[batch] = (MPI_Wtime() - began) / calls;
  }
  qsort(times, batches, sizeof times[0], ascending);
  if (rank == 0) printf("first %g\npassed-on %g\n", slowest * 1e6, times[batches / 2] * 1e6);
  MPI_Finalize();
  return 0;
}
