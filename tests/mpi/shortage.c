// SPDX-License-Identifier: BSD-3-Clause
// The last rank runs out of memory in MPI_Allreduce: its N-th allocation of strata's is refused, and all after it until
// the call is over; for every N up to the first with which nothing is refused. A new communicator each time, so that
// its record and its context are made; three calls on each, of which the first is short of memory, the second, or both.
// In between, a communicator for which there is memory.
//
//     shortage first|second|both [STEP]
//     shortage records
//
// Prints "shortage: P places, all right" from rank 0. STEP: only every STEP-th N from 50 on. "records": for many
// communicators in turn, alive at once, that rank has no memory at all in all calls but the last ones.
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// glibc's own allocator under the names that stay when a program defines these.
extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* old, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

enum { most_parts = 64 };
static struct { uintptr_t begin, end; } parts[most_parts]; // of strata's modules
static int part_count;
static __thread long left = -1; // allocations until they are refused; negative: never
static __thread int refused;

static int add_parts(struct dl_phdr_info* object, size_t size, void* unused) {
  (void)size, (void)unused;
  if (strstr(object->dlpi_name, "/strata/") == NULL || strstr(object->dlpi_name, ".so") == NULL) return 0;
  for (int part = 0; part < object->dlpi_phnum && part_count < most_parts; ++part)
    if (object->dlpi_phdr[part].p_type == PT_LOAD && (object->dlpi_phdr[part].p_flags & PF_X) != 0) {
      parts[part_count].begin = object->dlpi_addr + object->dlpi_phdr[part].p_vaddr;
      parts[part_count].end = parts[part_count].begin + object->dlpi_phdr[part].p_memsz;
      ++part_count;
    }
  return 0;
}

// Not the MPI library's own, which may end the process.
static int refuses(const void* caller) {
  if (left < 0) return 0;
  for (int part = 0; part < part_count; ++part)
    if ((uintptr_t)caller >= parts[part].begin && (uintptr_t)caller < parts[part].end) {
      if (left > 0) return --left, 0;
      refused = 1;
      errno = ENOMEM;
      return 1;
    }
  return 0;
}

void* malloc(size_t bytes) { return refuses(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) {
  return refuses(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  return refuses(__builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  return refuses(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return refuses(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  if (refuses(__builtin_return_address(0))) return ENOMEM;
  *result = __libc_memalign(alignment, bytes);
  return *result == NULL ? ENOMEM : 0;
}

// Whether the sum of this call is right here.
static int adds(int count, long short_after, MPI_Comm communicator) {
  static int send[5000], result[5000];
  int rank, ranks, right = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  for (int element = 0; element < count; ++element)
    send[element] = rank + element, result[element] = -1;
  left = short_after;
  const int code = MPI_Allreduce(send, result, count, MPI_INT, MPI_SUM, communicator);
  left = -1;
  for (int element = 0; element < count; ++element)
    right &= result[element] == ranks * (ranks - 1) / 2 + ranks * element;
  return right && code == MPI_SUCCESS;
}

enum { in_turn = 60 };

// How many of the calls were wrong.
static int records_in_turn(int rank, int ranks, int* places) {
  MPI_Comm communicators[in_turn];
  int wrong = 0;
  for (int number = 0; number < in_turn; ++number)
    MPI_Comm_dup(MPI_COMM_WORLD, &communicators[number]);
  for (int turn = 0; turn < 6; ++turn)
    for (int number = 0; number < in_turn; ++number) {
      refused = 0;
      if (!adds(turn % 2 == 0 ? 10 : 5000, rank == ranks - 1 && turn < 4 ? 0 : -1, communicators[number])) ++wrong;
      *places += refused;
    }
  for (int number = 0; number < in_turn; ++number)
    MPI_Comm_free(&communicators[number]);
  MPI_Bcast(places, 1, MPI_INT, ranks - 1, MPI_COMM_WORLD);
  for (int call = 0; call < 60; ++call)
    if (!adds(10, -1, MPI_COMM_WORLD)) ++wrong;
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int records = argc > 1 && strcmp(argv[1], "records") == 0;
  const int in_first = argc < 2 || strcmp(argv[1], "second") != 0;
  const int in_second = argc > 1 && strcmp(argv[1], "first") != 0;
  const long step = argc > 2 ? atol(argv[2]) : 1;
  int rank, ranks, go_on = 1, places = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // Modules that a context opens are there from now on.
  if (!adds(10, -1, MPI_COMM_WORLD) || !adds(5000, -1, MPI_COMM_WORLD)) ++wrong;
  dl_iterate_phdr(add_parts, NULL);
  if (records) wrong += records_in_turn(rank, ranks, &places);
  for (long after = 0; go_on && !records; after += after < 50 ? 1 : step) {
    MPI_Comm communicator;
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    const long short_after = rank == ranks - 1 ? after : -1;
    refused = 0;
    if (!adds(10, in_first ? short_after : -1, communicator)) ++wrong;
    if (!adds(5000, in_second ? short_after : -1, communicator)) ++wrong;
    if (!adds(10, -1, communicator)) ++wrong;
    go_on = refused;
    MPI_Comm_free(&communicator);
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    if (!adds(10, -1, communicator)) ++wrong;
    MPI_Bcast(&go_on, 1, MPI_INT, ranks - 1, MPI_COMM_WORLD);
    places += go_on;
    MPI_Comm_free(&communicator);
  }
  int worst = 0;
  MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0 && worst == 0) printf("shortage: %d places, all right\n", places);
  if (rank == 0 && worst != 0) printf("shortage: %d calls were wrong\n", worst);
  MPI_Finalize();
  return worst != 0;
}
