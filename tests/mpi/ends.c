// SPDX-License-Identifier: BSD-3-Clause
// A program that ends in an odd way after some calls.
//
//     ends abort|exit|crash|late|slow|twice
//
// abort: rank 1 calls MPI_Abort. exit: all call exit without MPI_Finalize. crash: rank 1 ends by a signal.
// late: MPI_Finalize is called by a handler at exit. slow: rank 0 comes to MPI_Finalize seven seconds after the others,
// as one that still writes its results. twice: a child of fork exits in its own way meanwhile.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void finalize(void) { MPI_Finalize(); }

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "exit";
  if (strcmp(how, "late") == 0) atexit(finalize);
  MPI_Init(&argc, &argv);
  int rank, in[1000] = {1}, out[1000];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm never_freed;
  MPI_Comm_dup(MPI_COMM_WORLD, &never_freed);
  for (int call = 0; call < 10; ++call) {
    MPI_Allreduce(in, out, 1 + call * 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, 1 + call * 100, MPI_INT, MPI_SUM, never_freed);
  }
  if (strcmp(how, "late") == 0) exit(0);
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
  if (strcmp(how, "crash") == 0 && rank == 1) raise(SIGKILL);
  if (strcmp(how, "twice") == 0) {
    const pid_t child = fork();
    if (child == 0) exit(0); // runs what the parent has registered
    waitpid(child, NULL, 0);
  }
  for (int call = 0; call < 1000; ++call)
    MPI_Allreduce(in, out, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && out[0] > 0) puts("ends: right");
  if (strcmp(how, "slow") == 0 && rank == 0)
    for (unsigned left = 7; left > 0;)
      left = sleep(left);
  MPI_Finalize();
  return 0;
}
