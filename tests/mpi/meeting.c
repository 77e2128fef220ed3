// SPDX-License-Identifier: BSD-3-Clause
// Types that MPI calls equal meet in one call: C's on even ranks, Fortran's or one of fixed width on odd ones, which
// changes from call to call; the first calls are the same on all, so that they are known already.
//
// Prints "meeting: N calls are right" from rank 0, or what was wrong.
#include <complex.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { most = 20000 };
static union {
  int whole[most];
  unsigned natural[most];
  long long_whole[most];
  float real[most];
  double double_real[most];
  float complex pair[most];
  double complex double_pair[most];
} in, out;
static int rank, ranks, calls, wrong;

// FORM(member): fills `in` with what adds up exactly, or counts what differs from the sum.
#define FORM(member)                                                                                                   \
  static int member##_differs(int check, int count) {                                                                  \
    int differences = 0;                                                                                               \
    for (int i = 0; i < count; ++i)                                                                                    \
      if (check)                                                                                                       \
        differences += out.member[i] != in.member[i] * 0 + (i % 7) * ranks + ranks * (ranks - 1) / 2;                  \
      else                                                                                                             \
        in.member[i] = (i % 7) + rank;                                                                                 \
    return differences;                                                                                                \
  }
FORM(whole)
FORM(natural)
FORM(long_whole)
FORM(real)
FORM(double_real)
FORM(pair)
FORM(double_pair)

static void meet(MPI_Datatype one, MPI_Datatype other, int (*differs)(int, int), const char* name) {
  if (one == MPI_DATATYPE_NULL || other == MPI_DATATYPE_NULL) return; // a library without Fortran
  const int counts[] = {1, 100, most};
  for (int which = 0; which < 3; ++which)
    for (int turn = 0; turn < 6; ++turn) {
      differs(0, counts[which]);
      memset(&out, 0xA5, sizeof out);
      const int mine = turn < 2 ? 0 : (rank + turn) % 2;
      MPI_Allreduce(&in, &out, counts[which], mine ? other : one, MPI_SUM, MPI_COMM_WORLD);
      ++calls;
      if (differs(1, counts[which]) == 0) continue;
      ++wrong;
      printf("meeting: rank %d, %s, count %d, turn %d is wrong\n", rank, name, counts[which], turn);
    }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  meet(MPI_INT, MPI_INTEGER, whole_differs, "MPI_INT and MPI_INTEGER");
  meet(MPI_INT, MPI_INT32_T, whole_differs, "MPI_INT and MPI_INT32_T");
  meet(MPI_UNSIGNED, MPI_UINT32_T, natural_differs, "MPI_UNSIGNED and MPI_UINT32_T");
  if (sizeof(long) == 8) meet(MPI_LONG, MPI_INTEGER8, long_whole_differs, "MPI_LONG and MPI_INTEGER8");
  meet(MPI_FLOAT, MPI_REAL, real_differs, "MPI_FLOAT and MPI_REAL");
  meet(MPI_DOUBLE, MPI_DOUBLE_PRECISION, double_real_differs, "MPI_DOUBLE and MPI_DOUBLE_PRECISION");
  meet(MPI_C_FLOAT_COMPLEX, MPI_COMPLEX, pair_differs, "MPI_C_FLOAT_COMPLEX and MPI_COMPLEX");
  meet(MPI_C_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, double_pair_differs, "MPI_C_DOUBLE_COMPLEX and MPI_DOUBLE_COMPLEX");
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("meeting: %d calls are right\n", calls);
  MPI_Finalize();
  return wrong != 0;
}
