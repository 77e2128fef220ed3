// SPDX-License-Identifier: BSD-3-Clause
// Threads call MPI_Allreduce at once, each on a communicator of its own, under MPI_THREAD_MULTIPLE; each also
// makes and frees communicators. Prints "threads: N calls are right" from rank 0.
//
//     threads [rounds] [threads, 4 without]
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_threads = 16, most = 60000 };

static int threads = 4;

static int rounds = 50;

struct work {
  MPI_Comm communicator;
  int number;
  long calls;
  long wrong;
};

static void use(struct work* work, MPI_Comm communicator, int* numbers, int count, int salt) {
  int rank, ranks;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  for (int i = 0; i < count; ++i)
    numbers[i] = rank + salt + i;
  MPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_INT, MPI_SUM, communicator);
  for (int i = 0; i < count; ++i)
    work->wrong += numbers[i] != ranks * (ranks - 1) / 2 + ranks * (salt + i);
  ++work->calls;
}

static void* run(void* pointer) {
  struct work* work = pointer;
  int* numbers = malloc(most * sizeof *numbers);
  unsigned random = (unsigned)work->number + 1; // the same on all ranks
  for (int round = 0; round < rounds; ++round) {
    random = random * 1664525U + 1013904223U;
    const int count = 1 + (int)(random >> 8) % (round % 3 == 0 ? most : 300);
    use(work, work->communicator, numbers, count, round * threads + work->number);
    if (round % 16 == 15) {
      MPI_Comm passing;
      MPI_Comm_dup(work->communicator, &passing);
      for (int call = 0; call < 3; ++call)
        use(work, passing, numbers, count, call);
      MPI_Comm_free(&passing);
    }
  }
  free(numbers);
  return NULL;
}

int main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1) rounds = atoi(argv[1]);
  if (argc > 2 && atoi(argv[2]) > 0 && atoi(argv[2]) <= most_threads) threads = atoi(argv[2]);
  if (provided != MPI_THREAD_MULTIPLE) {
    if (rank == 0) puts("threads: not by this MPI library");
    MPI_Finalize();
    return 77;
  }
  pthread_t handles[most_threads];
  struct work works[most_threads];
  for (int i = 0; i < threads; ++i) {
    works[i] = (struct work){.number = i};
    MPI_Comm_dup(MPI_COMM_WORLD, &works[i].communicator);
  }
  for (int i = 0; i < threads; ++i)
    pthread_create(&handles[i], NULL, run, &works[i]);
  long mine[2] = {0, 0}, all[2] = {0, 0};
  for (int i = 0; i < threads; ++i) {
    pthread_join(handles[i], NULL);
    MPI_Comm_free(&works[i].communicator);
    mine[0] += works[i].calls;
    mine[1] += works[i].wrong;
  }
  MPI_Reduce(mine, all, 2, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("threads: %ld calls are %s\n", all[0], all[1] == 0 ? "right" : "wrong");
  MPI_Finalize();
  return all[1] != 0;
}
