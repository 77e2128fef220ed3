/* SPDX-License-Identifier: BSD-3-Clause */
/* All-reduces in streams of the emulated device, of a context made of a communicator, so that its ranks may be on
 * several nodes: on_stream_mpi MODULE. Rank 0 prints how many results were wrong, and what it had before it waited. */
#include "../../src/device/emulated/program.h"

#include <mpi.h>

#include <strata/strata_mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { most_count = 50000, rounds = 9 };

static int mine[rounds][most_count], seen[rounds][most_count];

static int stop(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strata_last_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

static int value(int rank, int k, int round) { return (rank * 31 + k * 7 + round) % 1000; }

static int wrong(const int* found, int count, int ranks, int round) {
  for (int k = 0; k < count; ++k) {
    int sum = 0;
    for (int r = 0; r < ranks; ++r)
      sum += value(r, k, round);
    if (found[k] == sum) continue;
    fprintf(stderr, "round %d: element %d of %d is %d instead of %d\n", round, k, count, found[k], sum);
    return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  static const int counts[] = {1, 1000, most_count};
  const struct strata_emulated_device* accelerator = NULL;
  strata_emulated_device_entry entry = NULL;
  strata_context_t* context = NULL;
  int level = 0, rank = 0, ranks = 0, faults = 0, all_faults = 0, early = 0;
  void* const module = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (module != NULL) *(void**)&entry = dlsym(module, "strata_emulated_device_v1");
  if (entry == NULL) return 2;
  accelerator = entry();
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strata_context_create_mpi(MPI_COMM_WORLD, &context) != STRATA_OK) return stop("create");
  void* const stream = accelerator->make_stream(0);
  int* const send = accelerator->allocate(emulated_device, 0, sizeof mine[0]);
  int* const receive = accelerator->allocate(emulated_device, 0, sizeof mine[0]);
  /* Everything is put into one stream, and nobody waits but at the end. */
  for (int round = 0; round < rounds; ++round) {
    const int count = counts[round % 3], in_place = round % 2;
    const size_t bytes = (size_t)count * sizeof(int);
    for (int k = 0; k < count; ++k)
      mine[round][k] = value(rank, k, round);
    memset(seen[round], 0xff, bytes);
    faults += accelerator->enqueue_copy(stream, in_place ? receive : send, mine[round], bytes);
    if (strata_allreduce_on_stream(context, in_place ? STRATA_IN_PLACE : send, receive, (size_t)count, STRATA_INT32,
                                   STRATA_SUM, stream))
      return stop("all-reduce on a stream");
    faults += accelerator->enqueue_copy(stream, seen[round], receive, bytes);
  }
  early = seen[rounds - 1][0] != -1; /* the queue is late: behind the last call, nothing runs before it is waited for */
  faults += accelerator->synchronise(stream);
  for (int round = 0; round < rounds; ++round)
    faults += wrong(seen[round], counts[round % 3], ranks, round);
  if (strata_context_state(context) != STRATA_OK) return stop("state");
  strata_context_destroy(context);
  accelerator->destroy_stream(stream);
  MPI_Reduce(&faults, &all_faults, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("on a stream: %d calls by %d ranks, %d wrong, %d early\n", rounds, ranks, all_faults, early);
  MPI_Finalize();
  return all_faults != 0;
}
