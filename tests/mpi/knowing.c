// SPDX-License-Identifier: BSD-3-Clause
// Preloaded behind strata, stands for an MPI library that knows CUDA: it is the first object of the process with the
// names that strata looks for, says of itself what KNOWS_CUDA says, and takes buffers of accelerators. What it does not
// do by itself, the real library behind it does. Each process tells at its end how many all-reduces came, and how many
// of them with a buffer in device memory.
//
// Device memory is what the host cannot touch, as on the emulated device, whose module is EMULATED_DEVICE; or what
// libcuda.so.1 says. That of the tests' own is the host's, so nothing is to be copied.
#define _GNU_SOURCE
#include "../../src/device/emulated/program.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_MEMORYTYPE_DEVICE
enum { memory_type = 2, is_managed = 8, device_type = 2 };

static int calls, device_calls;

// The real library's.
static void* real(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

static const struct strata_emulated_device* emulated(void) {
  const char* const file = getenv("EMULATED_DEVICE");
  void* const module = file != NULL ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : NULL;
  strata_emulated_device_entry entry = NULL;
  if (module != NULL) *(void**)&entry = dlsym(module, "strata_emulated_device_v1");
  return entry != NULL ? entry() : NULL;
}

static int host_can_read(const void* memory) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  const int can = write(ends[1], memory, 1) == 1; // else EFAULT
  close(ends[0]);
  close(ends[1]);
  return can;
}

static int in_device_memory(const void* memory) {
  int (*look)(unsigned, int*, void**, unsigned long long);
  unsigned type = 0, managed = 0;
  int attributes[] = {memory_type, is_managed};
  void* answers[] = {&type, &managed};
  if (memory == MPI_IN_PLACE) return 0;
  if (!host_can_read(memory)) return 1;
  *(void**)&look = dlsym(RTLD_DEFAULT, "cuPointerGetAttributes");
  return look != NULL && look(2, attributes, answers, (unsigned long long)(size_t)memory) == 0 && type == device_type &&
         managed == 0;
}

static void* copy_for_the_host(const void* memory, size_t bytes) {
  if (memory == MPI_IN_PLACE || host_can_read(memory)) return (void*)memory;
  void* const copy = malloc(bytes);
  if (copy == NULL || emulated() == NULL || emulated()->copy(copy, memory, bytes) != 0) abort();
  return copy;
}

int PMPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm among) {
  int (*reduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  MPI_Aint low, extent;
  *(void**)&reduce = real("PMPI_Allreduce");
  PMPI_Type_get_extent(type, &low, &extent);
  const size_t bytes = (size_t)extent * (size_t)count;
  void* const in = copy_for_the_host(send, bytes);
  void* const out = send == receive ? in : copy_for_the_host(receive, bytes);
  ++calls;
  device_calls += in_device_memory(send) || in_device_memory(receive);
  const int code = reduce(in, out, count, type, operation, among);
  if (out != receive && emulated()->copy(receive, out, bytes) != 0) abort();
  if (in != send && in != out) free(in);
  if (out != receive) free(out);
  return code;
}

int MPIX_Query_cuda_support(void) {
  const char* const knows = getenv("KNOWS_CUDA");
  return knows != NULL && strcmp(knows, "1") == 0;
}

int PMPI_Get_library_version(char* version, int* length) {
  int (*get)(char*, int*);
  *(void**)&get = real("PMPI_Get_library_version");
  return get(version, length);
}

int PMPI_Init(int* argc, char*** argv) {
  int (*initialise)(int*, char***);
  *(void**)&initialise = real("PMPI_Init");
  return initialise(argc, argv);
}

int PMPI_Init_thread(int* argc, char*** argv, int wanted, int* got) {
  int (*initialise)(int*, char***, int, int*);
  *(void**)&initialise = real("PMPI_Init_thread");
  return initialise(argc, argv, wanted, got);
}

int PMPI_Finalize(void) {
  int (*finalise)(void);
  *(void**)&finalise = real("PMPI_Finalize");
  printf("knowing: %d calls, %d with a buffer in device memory\n", calls, device_calls);
  fflush(stdout);
  return finalise();
}

// Else what the real library has under these names would be taken for a tool's.
int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm among) {
  return PMPI_Allreduce(send, receive, count, type, operation, among);
}
int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
int MPI_Init_thread(int* argc, char*** argv, int wanted, int* got) { return PMPI_Init_thread(argc, argv, wanted, got); }
int MPI_Finalize(void) { return PMPI_Finalize(); }
