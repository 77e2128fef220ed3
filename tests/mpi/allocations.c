// SPDX-License-Identifier: BSD-3-Clause
// Counts what an MPI program allocates while it is in MPI_Allreduce: after the FIRST calls of a size, nothing. What
// strata allocates is told from what the libraries do that it calls, MPI's own among them.
//
//     allocations FIRST SIZE...
//
// Prints "allocations: SIZE bytes: N by strata, N by others in M calls" for each size, from rank 0. After FIRST calls
// that are not counted, a rank that allocates prints where it did so first.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// glibc's own allocator under the names that stay when a program defines these.
extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* old, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

// Of the thread that calls; MPI's own threads do as they like.
static __thread int counting;
static __thread long by_strata, by_others;
static __thread void* first_frames[64]; // of the first allocation that was counted
static __thread int first_depth;

static int is_in_folder(const char* file, const char* folder) {
  const char* end = strrchr(file, '/');
  const size_t length = strlen(folder);
  return end != NULL && (size_t)(end - file) > length && end[-1 - (long)length] == '/' &&
         strncmp(end - length, folder, length) == 0;
}

// Whose code it is: that of the innermost library that is neither a C nor a C++ library, which allocate for others.
static int is_stratas(void** frames, int depth) {
  for (int frame = 0; frame < depth; ++frame) {
    Dl_info library;
    if (dladdr(frames[frame], &library) == 0) continue;
    const char* slash = strrchr(library.dli_fname, '/');
    const char* name = slash == NULL ? library.dli_fname : slash + 1;
    if (strstr(name, "strata") != NULL || is_in_folder(library.dli_fname, "strata")) return 1;
    if (strncmp(name, "lib", 3) == 0 && strncmp(name, "libc.", 5) != 0 && strncmp(name, "libstdc++.", 10) != 0)
      return 0;
  }
  return 0;
}

static void count(void) {
  if (!counting) return;
  counting = 0; // of what this allocates itself
  void* frames[64];
  const int depth = backtrace(frames, 64);
  if (first_depth == 0) {
    memcpy(first_frames, frames, (size_t)depth * sizeof *frames);
    first_depth = depth;
  }
  if (is_stratas(frames, depth))
    ++by_strata;
  else
    ++by_others;
  counting = 1;
}

void* malloc(size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void* calloc(size_t number, size_t bytes) {
  count();
  return __libc_calloc(number, bytes);
}
void* realloc(void* old, size_t bytes) {
  count();
  return __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result == NULL ? 12 : 0;
}

static void print_first(int rank, int bytes) {
  printf("allocations: rank %d, %d bytes: the first one, innermost first:\n", rank, bytes);
  fflush(stdout);
  backtrace_symbols_fd(first_frames, first_depth, STDOUT_FILENO);
}

int main(int argc, char** argv) {
  enum { calls = 20 };
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  void* frame;
  (void)backtrace(&frame, 1); // loads what it needs
  const int first_calls = argc > 1 ? atoi(argv[1]) : 1;
  for (int argument = 2; argument < argc; ++argument) {
    const int bytes = atoi(argv[argument]), elements = bytes / 4;
    int *send = calloc((size_t)elements, 4), *result = calloc((size_t)elements, 4);
    long worst[2] = {0, 0};
    by_strata = by_others = first_depth = 0;
    for (int call = 0; call < first_calls + calls; ++call) {
      counting = call >= first_calls;
      MPI_Allreduce(send, result, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      counting = 0;
    }
    const long during[2] = {by_strata, by_others};
    MPI_Reduce(during, worst, 2, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
      printf("allocations: %d bytes: %ld by strata, %ld by others in %d calls\n", bytes, worst[0], worst[1], calls);
    if (first_calls > 0 && first_depth > 0) print_first(rank, bytes);
    free(send);
    free(result);
  }
  MPI_Finalize();
  return 0;
}
