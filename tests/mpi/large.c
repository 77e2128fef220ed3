// SPDX-License-Identifier: BSD-3-Clause
// Three calls of one large vector, in place, every element checked. With COUNTS_OF_64_BITS through MPI_Allreduce_c.
//
//     large COUNT [bytes]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef COUNTS_OF_64_BITS
#define ALLREDUCE MPI_Allreduce_c
#else
#define ALLREDUCE(send, receive, count, type, operation, communicator)                                                 \
  MPI_Allreduce(send, receive, (int)(count), type, operation, communicator)
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long count = argc > 1 ? atol(argv[1]) : 1000;
  const int as_bytes = argc > 2 && strcmp(argv[2], "bytes") == 0;
  int rank, ranks;
  long wrong = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char* small = as_bytes ? malloc((size_t)count) : NULL;
  double* numbers = as_bytes ? NULL : malloc((size_t)count * sizeof *numbers);
  if (small == NULL && numbers == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int call = 0; call < 3; ++call) {
    if (as_bytes) {
      for (long i = 0; i < count; ++i)
        small[i] = (unsigned char)((i % 11) + rank);
      ALLREDUCE(MPI_IN_PLACE, small, count, MPI_UNSIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
      for (long i = 0; i < count; ++i)
        wrong += small[i] != (unsigned char)(ranks * (i % 11) + ranks * (ranks - 1) / 2);
    } else {
      for (long i = 0; i < count; ++i)
        numbers[i] = (double)(i % 1001 + rank + call);
      ALLREDUCE(MPI_IN_PLACE, numbers, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      for (long i = 0; i < count; ++i)
        wrong += numbers[i] != (double)(ranks * (i % 1001 + call) + ranks * (ranks - 1) / 2);
    }
  }
  MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("large: right\n");
  free(small);
  free(numbers);
  MPI_Finalize();
  return wrong != 0;
}
