// SPDX-License-Identifier: BSD-3-Clause
// A program that ends in an odd way after some calls.
//
//     ends abort|again|callback|crash|double|exit|late|slow|twice
//
// callback: MPI_Finalize calls one of the program's, which calls MPI_Allreduce. abort: rank 1 calls MPI_Abort. exit:
// all call exit without MPI_Finalize. crash: rank 1 ends by a signal. late: MPI_Finalize is called by a handler at
// exit. slow: rank 0 comes to MPI_Finalize seven seconds after the others, as one that still writes its results. twice:
// a child of fork exits in its own way meanwhile. again: a library calls MPI_Init and uses MPI before the program
// would, and MPI_Finalize after it would; each asks first whether it was called. double: MPI_Init is called twice
// without asking, which is an error.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void finalize(void) { MPI_Finalize(); }

static void initialize_if_needed(int* argc, char*** argv) {
  int initialized = 0, before = 0;
  MPI_Initialized(&initialized);
  if (!initialized) MPI_Init(argc, argv);
  for (int call = 0; call < 5; ++call)
    MPI_Allreduce(&initialized, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("ends: MPI was initialised before on %d ranks\n", before);
}

static void finalize_if_needed(void) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized) MPI_Finalize();
}

// MPI 4.0, 11.2.4: what is attached to MPI_COMM_SELF goes first, when MPI can be used as ever.
static int add_at_the_end(MPI_Comm self, int key, void* value, void* extra) {
  (void)self, (void)key, (void)value, (void)extra;
  int rank, one = 1, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int call = 0; call < 5; ++call)
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("ends: %d ranks in the callback\n", sum);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "exit";
  if (strcmp(how, "late") == 0) atexit(finalize);
  if (strcmp(how, "again") == 0) {
    atexit(finalize_if_needed);
    initialize_if_needed(NULL, NULL); // the library's
    initialize_if_needed(&argc, &argv);
  } else {
    MPI_Init(&argc, &argv);
  }
  if (strcmp(how, "double") == 0) MPI_Init(&argc, &argv);
  int rank, in[1000] = {1}, out[1000];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(how, "callback") == 0) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, add_at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  }
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
  finalize_if_needed();
  return 0;
}
