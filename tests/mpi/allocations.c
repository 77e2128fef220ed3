// SPDX-License-Identifier: BSD-3-Clause
// Counts what an MPI program allocates while it is in MPI_Allreduce: after the FIRST calls of a size, nothing.
//
//     allocations FIRST SIZE...
//
// Prints "allocations: SIZE bytes: N in M calls" for each size, from rank 0.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// glibc's own allocator under the names that stay when a program defines these.
extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* old, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

static __thread long allocations; // of the thread that calls; MPI's own threads do as they like

void* malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  ++allocations;
  return __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result == NULL ? 12 : 0;
}

int main(int argc, char** argv) {
  enum { calls = 20 };
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int first_calls = argc > 1 ? atoi(argv[1]) : 1;
  for (int argument = 2; argument < argc; ++argument) {
    const int bytes = atoi(argv[argument]), count = bytes / 4;
    int *send = calloc((size_t)count, 4), *result = calloc((size_t)count, 4);
    long during = 0, worst = 0;
    for (int call = 0; call < first_calls + calls; ++call) {
      const long before = allocations;
      MPI_Allreduce(send, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (call >= first_calls) during += allocations - before;
    }
    MPI_Reduce(&during, &worst, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("allocations: %d bytes: %ld in %d calls\n", bytes, worst, calls);
    free(send);
    free(result);
  }
  MPI_Finalize();
  return 0;
}
