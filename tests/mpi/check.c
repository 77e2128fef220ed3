// SPDX-License-Identifier: BSD-3-Clause
// An MPI program with errors that MPI leaves undefined: ranks that disagree about a call. With STRATA_CHECK=1 each such
// call gives an error, and the next right one works.
//
//     check fatal         with the default error handler: the first wrong call ends the job
//     check groups        the same between two groups of ranks
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int handled;

static void handle(MPI_Comm* communicator, int* code, ...) {
  (void)communicator;
  (void)code;
  ++handled;
}

static void add(void* in, void* out, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    ((int*)out)[i] += ((int*)in)[i];
}

/* Whether a call gave this class, and the handler was called as it should be. */
static int is_handled(int code, int wanted) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  const int right = class == wanted && handled == (wanted != MPI_SUCCESS);
  if (!right) printf("class %d, handled %d times\n", class, handled);
  handled = 0;
  return right;
}

/* Returns the number of wrong calls. The last rank is in the second group. */
static int between_groups(int rank, int ranks) {
  MPI_Comm half, groups;
  const int second = rank >= ranks / 2, last = rank == ranks - 1;
  MPI_Comm_split(MPI_COMM_WORLD, second, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, second ? 0 : ranks / 2, 1, &groups);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(groups, handler);
  MPI_Errhandler_free(&handler);
  int in[64], out[64], wrong = 0;
  double reals[64];
  for (int i = 0; i < 64; ++i)
    in[i] = i, out[i] = -1, reals[i] = i;
  const int alone = ranks - ranks / 2 == 1; /* the last rank is its whole group */
  wrong += !is_handled(MPI_Allreduce(in, out, last ? 9 : 10, MPI_INT, MPI_SUM, groups), MPI_ERR_COUNT);
  wrong += !is_handled(
      MPI_Allreduce(second ? (void*)reals : in, out, 8, second ? MPI_DOUBLE : MPI_INT, MPI_SUM, groups), MPI_ERR_TYPE);
  if (!alone) wrong += !is_handled(MPI_Allreduce(in, out, 10, MPI_INT, last ? MPI_MAX : MPI_SUM, groups), MPI_ERR_OP);
  for (int i = 0; i < 64; ++i)
    wrong += out[i] != -1;
  wrong += !is_handled(MPI_Allreduce(in, out, 10, second ? MPI_INTEGER : MPI_INT, MPI_SUM, groups), MPI_SUCCESS);
  for (int i = 0; i < 10; ++i)
    wrong += out[i] != i * (second ? ranks / 2 : ranks - ranks / 2);
  MPI_Comm_free(&groups);
  MPI_Comm_free(&half);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm communicator;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  if (argc == 1) {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(communicator, handler);
    MPI_Errhandler_free(&handler);
  }
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op user;
  MPI_Op_create(add, 1, &user);

  int in[64], out[64];
  double reals[64];
  const int groups = argc > 1 && strcmp(argv[1], "groups") == 0;
  if (groups) wrong = between_groups(rank, ranks);
  for (int turn = 0; turn < (groups ? 0 : 3); ++turn) {
    const int last = rank == ranks - 1;
    for (int kind = 0; kind < 7; ++kind) {
      for (int i = 0; i < 64; ++i)
        in[i] = i, out[i] = -1, reals[i] = i;
      handled = 0;
      int code = MPI_SUCCESS, class = MPI_SUCCESS;
      const int wanted[] = {MPI_ERR_COUNT, MPI_ERR_OP,  MPI_ERR_TYPE, MPI_ERR_COUNT,
                            MPI_ERR_OP,    MPI_SUCCESS, MPI_ERR_COUNT};
      if (kind == 0) code = MPI_Allreduce(in, out, last ? 9 : 10, MPI_INT, MPI_SUM, communicator);
      if (kind == 1) code = MPI_Allreduce(in, out, 10, MPI_INT, last ? MPI_MAX : MPI_SUM, communicator);
      if (kind == 2)
        code = MPI_Allreduce(last ? (void*)reals : in, out, 8, last ? MPI_DOUBLE : MPI_INT, MPI_SUM, communicator);
      if (kind == 3) code = MPI_Allreduce(in, out, last ? 5 : 6, pair, user, communicator);
      if (kind == 4) code = MPI_Allreduce(in, out, 10, MPI_INT, last ? user : MPI_SUM, communicator);
      if (kind == 5) // what MPI calls equal
        code = MPI_Allreduce(in, out, 10, last ? MPI_INTEGER : MPI_INT, MPI_SUM, communicator);
      if (kind == 6) code = MPI_Allreduce(in, out, last ? 0 : 7, MPI_INT, MPI_SUM, communicator);
      if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
      if (class != wanted[kind] || handled != (wanted[kind] != MPI_SUCCESS)) {
        printf("rank %d: turn %d kind %d gave class %d, handled %d times\n", rank, turn, kind, class, handled);
        ++wrong;
      }
      for (int i = 0; i < 64; ++i)
        wrong += kind == 5 && i < 10 ? out[i] != i * ranks : out[i] != -1;
    }
  }
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("check: right\n");
  MPI_Op_free(&user);
  MPI_Type_free(&pair);
  MPI_Comm_free(&communicator);
  MPI_Finalize();
  return wrong != 0;
}
