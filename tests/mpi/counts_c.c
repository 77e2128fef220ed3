// SPDX-License-Identifier: BSD-3-Clause
// MPI_Allreduce_c (MPI 4.0, 6.9.6) with few elements of all kinds: for strata and for the MPI library. Rank 0 prints
// what each gave.
#include <mpi.h>
#include <stdio.h>

enum { most = 3000 };
static int in[2 * most], out[2 * most], rank;

// Adds pairs of numbers and keeps the second; does not commute.
static void add_pairs(void* from, void* to, MPI_Count* count, MPI_Datatype* type) {
  (void)type;
  const int* const given = from;
  int* const sums = to;
  for (MPI_Count i = 0; i < *count; ++i)
    sums[2 * i] += given[2 * i], sums[2 * i + 1] = given[2 * i + 1];
}

static void call(const char* name, int in_place, MPI_Count count, MPI_Datatype type, MPI_Op operation) {
  for (int i = 0; i < 2 * most; ++i)
    in[i] = i % 5 + rank, out[i] = in_place ? in[i] : -1;
  const void* const from = in_place ? MPI_IN_PLACE : (void*)in;
  const int code = MPI_Allreduce_c(from, out, count, type, operation, MPI_COMM_WORLD);
  unsigned long long hash = 14695981039346656037ULL; // FNV-1a
  for (int i = 0; i < 2 * most; ++i)
    hash = (hash ^ (unsigned)out[i]) * 1099511628211ULL;
  if (rank == 0) printf("%s: %s, %016llx\n", name, code == MPI_SUCCESS ? "success" : "error", hash);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op add;
  MPI_Op_create_c(add_pairs, 0, &add);
  for (int turn = 0; turn < 4; ++turn) {
    call("a sum", 0, most, MPI_INT, MPI_SUM);
    call("a sum in place", 1, most, MPI_INT, MPI_SUM);
    call("a maximum of one", 0, 1, MPI_INT, MPI_MAX);
    call("no elements", 0, 0, MPI_INT, MPI_SUM);
    call("a minimum with its place", 0, most, MPI_2INT, MPI_MINLOC);
    call("an operation of the program", 0, most, pair, add);
    call("the same in place", 1, 7, pair, add);
  }
  MPI_Op_free(&add);
  MPI_Type_free(&pair);
  MPI_Finalize();
  return 0;
}
