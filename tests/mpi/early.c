// SPDX-License-Identifier: BSD-3-Clause
// A thread begins to call MPI_Allreduce as soon as it sees that MPI is initialised, while another is still in
// MPI_Init_thread. Prints "early: N calls are right" from rank 0.
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { calls = 40, most = 500 };
static long right;

static void* run(void* nothing) {
  int initialised = 0, rank, ranks;
  while (!initialised) {
    MPI_Initialized(&initialised);
    sched_yield();
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int call = 0; call < calls; ++call) {
    int numbers[most], wrong = 0;
    for (int i = 0; i < most; ++i)
      numbers[i] = rank + call + i;
    MPI_Allreduce(MPI_IN_PLACE, numbers, most, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < most; ++i)
      wrong += numbers[i] != ranks * (ranks - 1) / 2 + ranks * (call + i);
    right += wrong == 0;
  }
  return nothing;
}

int main(int argc, char** argv) {
  pthread_t thread;
  int given, rank;
  if (pthread_create(&thread, NULL, run, NULL) != 0) return 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  pthread_join(thread, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("early: %ld calls are right\n", right);
  MPI_Finalize();
  return 0;
}
