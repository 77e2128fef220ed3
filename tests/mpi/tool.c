// SPDX-License-Identifier: BSD-3-Clause
// A PMPI tool as any profiler is one: counts MPI_Allreduce calls and tells the number in MPI_Finalize, from rank 0:
// "tool: N calls". Built as a shared library by the test that uses it.
#include <mpi.h>
#include <stdio.h>

static long calls;
static int initialised;

int MPI_Init(int* argc, char*** argv) {
  initialised = 1;
  return PMPI_Init(argc, argv);
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype datatype, MPI_Op operation,
                  MPI_Comm communicator) {
  ++calls;
  return PMPI_Allreduce(send, receive, count, datatype, operation, communicator);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("tool: %ld calls%s\n", calls, initialised ? "" : ", but no MPI_Init");
  fflush(stdout);
  return PMPI_Finalize();
}
