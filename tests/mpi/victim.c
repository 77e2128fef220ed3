// SPDX-License-Identifier: BSD-3-Clause
// One rank kills itself in the midst of calls; the others print what they get.
//
//     victim ELEMENTS [RANK]
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int handled;

static void handle(MPI_Comm* communicator, int* code, ...) {
  (void)communicator;
  (void)code;
  ++handled;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? atoi(argv[1]) : 4, victim = argc > 2 ? atoi(argv[2]) : 1;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  int *in = calloc((size_t)count, sizeof *in), *out = calloc((size_t)count, sizeof *out);
  for (int turn = 0; turn < 8; ++turn) {
    if (turn == 6 && rank == victim) raise(SIGKILL);
    const int code = MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (turn < 6) continue;
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    printf("rank %d: call %d: %s, handled %d\n", rank, turn, class == MPI_ERR_OTHER ? "error" : "success", handled);
    fflush(stdout);
  }
  // MPI_Finalize would wait for the victim.
  _exit(0);
}
