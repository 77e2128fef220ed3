// SPDX-License-Identifier: BSD-3-Clause
// One rank is killed in the midst of calls; the others print what they get from call 4 on, and end at the second error.
//
//     victim ELEMENTS [RANK [before|in|after]]
//
// Before call 6 or after it the rank kills itself. In a call, from 6 on, a child of its does, and prints in which.
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int handled;

static void handle(MPI_Comm* communicator, int* code, ...) {
  (void)communicator;
  (void)code;
  ++handled;
}

/* The call in which this process is, for its child; 0: it is between two calls. */
static volatile int* current;

static void be_killed_in_a_call(int rank) {
  const pid_t victim = getpid();
  int call = 0;
  if (fork() != 0) return;
  while (getppid() == victim) {
    const int seen = *current;
    usleep(300);
    call = *current;
    if (call != 0 && call == seen) break;
  }
  printf("rank %d: killed in call %d\n", rank, call);
  fflush(stdout);
  kill(victim, SIGKILL);
  _exit(0);
}

/* As a program that ends on errors would see it: a sum that is wrong must not come with success. */
static const char* checked(const int* out, int count, int ranks, int call) {
  for (int i = 0; i < count; ++i)
    if (out[i] != ranks * (ranks - 1) / 2 + ranks * (i % 7 + call)) return "wrong";
  return "right";
}

static const char* named(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class == MPI_ERR_OTHER ? "error" : "error of another class";
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? atoi(argv[1]) : 4, victim = argc > 2 ? atoi(argv[2]) : 1;
  const char* const when = argc > 3 ? argv[3] : "before";
  int rank = 0, ranks = 1, errors = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  current = mmap(NULL, sizeof *current, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (current == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  int *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
  for (int call = 0; call < 10000 && errors < 2; ++call) {
    for (int i = 0; i < count; ++i)
      in[i] = rank + i % 7 + call;
    const int doomed = rank == victim && call == 6;
    if (doomed && strcmp(when, "before") == 0) raise(SIGKILL);
    if (doomed && strcmp(when, "in") == 0) be_killed_in_a_call(rank);
    *current = call;
    const int code = MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    *current = 0;
    if (doomed && strcmp(when, "after") == 0) raise(SIGKILL);
    if (code != MPI_SUCCESS)
      printf("rank %d: call %d: %s, handled %d\n", rank, call, named(code), handled);
    else if (call >= 4)
      printf("rank %d: call %d: %s\n", rank, call, checked(out, count, ranks, call));
    errors += code != MPI_SUCCESS;
    fflush(stdout);
  }
  // MPI_Finalize would wait for the victim.
  _exit(0);
}
