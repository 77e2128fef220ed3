/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI library whose all-gather fails while a context is made: an error is returned, and the program, which has MPI's
 * default handler, goes on. Prints "create returned CODE" twice, the second time without the failure. */
#include <mpi.h>

#include <strata/strata_mpi.h>

#include <stdio.h>

static int fails = 1;

/* As an MPI library does it: the communicator's handler is called first. */
int MPI_Allgather(const void* send, int sent, MPI_Datatype send_type, void* receive, int received,
                  MPI_Datatype receive_type, MPI_Comm communicator) {
  if (fails != 0) {
    MPI_Comm_call_errhandler(communicator, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
  }
  return PMPI_Allgather(send, sent, send_type, receive, received, receive_type, communicator);
}

int main(int argc, char** argv) {
  strata_context_t* context = NULL;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (; fails >= 0; --fails) {
    const int code = strata_context_create_mpi(MPI_COMM_WORLD, &context);
    if (rank == 0) printf("create returned %d\n", code);
  }
  strata_context_destroy(context);
  MPI_Finalize();
  return 0;
}
