// SPDX-License-Identifier: BSD-3-Clause
// Threads call MPI_Allreduce, each on a communicator of its own; each also makes and frees communicators. Prints
// "threads: N calls are right, LEVEL" from rank 0, with the level of threads that the MPI library gave.
//
//     threads [rounds] [threads, 4 without] [multiple|serialized|funneled]
//
// multiple: all at once, under MPI_THREAD_MULTIPLE; this is what it does without a level. serialized: they take turns,
// under MPI_THREAD_SERIALIZED. funneled: the main thread makes the calls of all of them, and the others only compute.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_threads = 16, most = 60000 };

static int threads = 4;

static int rounds = 50;

static int level = MPI_THREAD_MULTIPLE;

static const char* name_of(int some_level) {
  return some_level == MPI_THREAD_MULTIPLE     ? "multiple"
         : some_level == MPI_THREAD_SERIALIZED ? "serialized"
         : some_level == MPI_THREAD_FUNNELED   ? "funneled"
                                               : "single";
}

// Whose turn it is. In a fixed order: else a rank could be in the call of one thread, and another in that of another,
// and each would wait for ever.
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed_on = PTHREAD_COND_INITIALIZER;
static int turn = 0;

static void take_turn(int number) {
  if (level != MPI_THREAD_SERIALIZED) return;
  pthread_mutex_lock(&turns);
  while (turn != number)
    pthread_cond_wait(&passed_on, &turns);
}

static void pass_turn(void) {
  if (level != MPI_THREAD_SERIALIZED) return;
  turn = (turn + 1) % threads;
  pthread_cond_broadcast(&passed_on);
  pthread_mutex_unlock(&turns);
}

struct work {
  MPI_Comm communicator;
  int number;
  long calls;
  long wrong;
};

static void use(struct work* work, MPI_Comm communicator, int* numbers, int count, int salt) {
  int rank, ranks;
  take_turn(work->number);
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  for (int i = 0; i < count; ++i)
    numbers[i] = rank + salt + i;
  MPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_INT, MPI_SUM, communicator);
  pass_turn();
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
      take_turn(work->number);
      MPI_Comm_dup(work->communicator, &passing);
      pass_turn();
      for (int call = 0; call < 3; ++call)
        use(work, passing, numbers, count, call);
      take_turn(work->number);
      MPI_Comm_free(&passing);
      pass_turn();
    }
  }
  free(numbers);
  return NULL;
}

static void* compute(void* pointer) {
  struct work* work = pointer;
  for (int round = 0; round < rounds; ++round) {
    long* numbers = malloc(most * sizeof *numbers);
    for (int i = 0; i < most; ++i)
      numbers[i] = i;
    for (int i = 0; i < most; ++i)
      work->wrong += numbers[i] != i;
    free(numbers);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided, rank;
  for (int some_level = MPI_THREAD_SINGLE; argc > 3 && some_level <= MPI_THREAD_MULTIPLE; ++some_level)
    if (strcmp(argv[3], name_of(some_level)) == 0) level = some_level;
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1) rounds = atoi(argv[1]);
  if (argc > 2 && atoi(argv[2]) > 0 && atoi(argv[2]) <= most_threads) threads = atoi(argv[2]);
  if (provided < level) {
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
  const int funneled = level == MPI_THREAD_FUNNELED;
  for (int i = 0; i < threads; ++i)
    pthread_create(&handles[i], NULL, funneled ? compute : run, &works[i]);
  long calls = 0, wrong = 0;
  for (int i = 0; funneled && i < threads; ++i) {
    struct work all_here = {.communicator = works[i].communicator, .number = i};
    run(&all_here);
    calls += all_here.calls;
    wrong += all_here.wrong;
  }
  long mine[2] = {calls, wrong}, all[2] = {0, 0};
  for (int i = 0; i < threads; ++i)
    pthread_join(handles[i], NULL);
  for (int i = 0; i < threads; ++i) { // when no other thread calls MPI any more
    MPI_Comm_free(&works[i].communicator);
    mine[0] += works[i].calls;
    mine[1] += works[i].wrong;
  }
  MPI_Reduce(mine, all, 2, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("threads: %ld calls are %s, %s\n", all[0], all[1] == 0 ? "right" : "wrong", name_of(provided));
  MPI_Finalize();
  return all[1] != 0;
}
