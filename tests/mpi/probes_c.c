// SPDX-License-Identifier: BSD-3-Clause
// Asks for MPI_Allreduce_c as programs do that were compiled for several MPI libraries: by a weak symbol, and by
// MPI_Allreduce where there is none. With "large" also counts below zero (with which MPICH crashes) and beyond an int,
// which are to be refused. Rank 0 prints "probes_c: right, N calls of MPI_Allreduce_c".
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#pragma weak MPI_Allreduce_c
#pragma weak PMPI_Allreduce_c
#if MPI_VERSION < 4
int MPI_Allreduce_c(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int PMPI_Allreduce_c(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
#endif

typedef int function(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);

enum { most = 100 };
static int large_calls;

static int sum(function* large, const double* in, double* out, MPI_Count count) {
  if (large == NULL) return MPI_Allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  ++large_calls;
  return large(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int is_right(function* large, int rank, int ranks) {
  double in[most], out[most];
  for (int i = 0; i < most; ++i)
    in[i] = rank + i, out[i] = -1;
  int right = sum(large, in, out, most) == MPI_SUCCESS;
  for (int i = 0; i < most; ++i)
    right &= out[i] == ranks * (ranks - 1) / 2 + ranks * i;
  return right && sum(large, in, out, 0) == MPI_SUCCESS;
}

static int is_refused(function* large, MPI_Count count) {
  double in = 1, out = -1;
  return large == NULL || (sum(large, &in, &out, count) != MPI_SUCCESS && out == -1);
}

int main(int argc, char** argv) {
  int rank, ranks, right = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int turn = 0; turn < 5; ++turn)
    right &= is_right(MPI_Allreduce_c, rank, ranks) && is_right(PMPI_Allreduce_c, rank, ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (argc > 1 && strcmp(argv[1], "large") == 0) {
    const MPI_Count beyond = (MPI_Count)1 << 32; // its lower half is 0
    right &= is_refused(MPI_Allreduce_c, -1) && is_refused(PMPI_Allreduce_c, -1);
    right &= is_refused(MPI_Allreduce_c, beyond) && is_refused(PMPI_Allreduce_c, beyond);
  }
  if (rank == 0) printf("probes_c: %s, %d calls of MPI_Allreduce_c\n", right ? "right" : "WRONG", large_calls);
  MPI_Finalize();
  return 0;
}
