// SPDX-License-Identifier: BSD-3-Clause
// A rank that leaves MPI_Allreduce has done its part: the others get through while it does something else.
//
//     leaves [count]
//
// In turn each rank, once it is through, waits natively for a message that another sends when it is through; and then
// sleeps for a while, during which the others must come out of their calls. Prints "leaves: right" from rank 0, or what
// took too long.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { first_calls = 3, rounds = 5 };
static const double nap = 1.2, patience = 0.9;

static int rank, ranks, count, wrong;
static int *in, *out;

static double all_reduce(int salt) {
  for (int i = 0; i < count; ++i)
    in[i] = rank + salt + i % 7;
  const double begin = MPI_Wtime();
  MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - begin;
  for (int i = 0; i < count; ++i)
    wrong += out[i] != ranks * (ranks - 1) / 2 + ranks * (salt + i % 7);
  return seconds;
}

// Deadlocks when what the waiting rank has sent leaves only as it calls strata again.
static void wait_natively(int waiting, int salt) {
  all_reduce(salt);
  if (rank == waiting) MPI_Recv(NULL, 0, MPI_INT, (waiting + 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == (waiting + 1) % ranks) MPI_Send(NULL, 0, MPI_INT, waiting, 0, MPI_COMM_WORLD);
}

static int sleep_after(int sleeper, int salt) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = all_reduce(salt);
  if (rank == sleeper) usleep((useconds_t)(nap * 1e6));
  const int late = rank != sleeper && seconds > patience;
  if (late) printf("leaves: rank %d was in the call for %.2f s while rank %d slept\n", rank, seconds, sleeper);
  return late;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  count = argc > 1 ? atoi(argv[1]) : 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  in = malloc((size_t)count * sizeof *in);
  out = malloc((size_t)count * sizeof *out);
  int late = 0, all[2] = {0, 0};
  for (int call = 0; call < first_calls; ++call)
    all_reduce(call);
  for (int round = 0; round < rounds; ++round)
    for (int waiting = 0; waiting < ranks; ++waiting)
      wait_natively(waiting, round);
  for (int turn = 0; turn < 2; ++turn)
    late += sleep_after(turn == 0 ? 0 : ranks - 1, turn);
  const int mine[2] = {late, wrong};
  MPI_Reduce(mine, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all[0] == 0 && all[1] == 0) puts("leaves: right");
  if (rank == 0 && all[1] != 0) printf("leaves: %d elements are wrong\n", all[1]);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
