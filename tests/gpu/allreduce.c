// SPDX-License-Identifier: BSD-3-Clause
// An MPI program whose buffers are in the memory of a GPU: sums and maxima of all ranks, in place and not, and with
// some ranks' buffers in host memory. It finds CUDA's driver at run time. Exits with 77 where there is no GPU.
#include <mpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long place;

static int (*cu_init)(unsigned), (*retain)(void**, int), (*set_current)(void*), (*device_count)(int*);
static int (*allocate)(place*, size_t), (*release)(place), (*to_device)(place, const void*, size_t);
static int (*to_host)(void*, place, size_t);

// Whether there is a GPU, with a context on it.
static int start_cuda(int rank) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) return 0;
  *(void**)&cu_init = dlsym(library, "cuInit");
  *(void**)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
  *(void**)&set_current = dlsym(library, "cuCtxSetCurrent");
  *(void**)&device_count = dlsym(library, "cuDeviceGetCount");
  *(void**)&allocate = dlsym(library, "cuMemAlloc_v2");
  *(void**)&release = dlsym(library, "cuMemFree_v2");
  *(void**)&to_device = dlsym(library, "cuMemcpyHtoD_v2");
  *(void**)&to_host = dlsym(library, "cuMemcpyDtoH_v2");
  void* context = NULL;
  int devices = 0;
  return cu_init != NULL && retain != NULL && set_current != NULL && device_count != NULL && allocate != NULL &&
         release != NULL && to_device != NULL && to_host != NULL && cu_init(0) == 0 && device_count(&devices) == 0 &&
         devices > 0 && retain(&context, rank % devices) == 0 && set_current(context) == 0;
}

// One call; whether this rank's result is right. Elements are small whole numbers: any order gives the same sum.
static int right(int count, MPI_Op operation, int in_place, int on_device) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const size_t bytes = (size_t)count * sizeof(float);
  float* const values = malloc(bytes);
  float* const results = calloc((size_t)count, sizeof(float));
  for (int i = 0; i < count; ++i)
    values[i] = (float)((i + rank) % 100);
  place send = 0, recv = 0;
  int good = 1;
  if (on_device) {
    good = allocate(&send, bytes) == 0 && allocate(&recv, bytes) == 0 &&
           to_device(in_place ? recv : send, values, bytes) == 0;
    if (!good) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : (void*)(uintptr_t)send, (void*)(uintptr_t)recv, count, MPI_FLOAT, operation,
                  MPI_COMM_WORLD);
    good = to_host(results, recv, bytes) == 0;
    release(send);
    release(recv);
  } else {
    for (int i = 0; in_place && i < count; ++i)
      results[i] = values[i];
    MPI_Allreduce(in_place ? MPI_IN_PLACE : values, results, count, MPI_FLOAT, operation, MPI_COMM_WORLD);
  }
  for (int i = 0; i < count && good; ++i) {
    float expected = 0;
    for (int other = 0; other < size; ++other) {
      const float value = (float)((i + other) % 100);
      expected = operation == MPI_SUM ? expected + value : value > expected ? value : expected;
    }
    good = results[i] == expected;
  }
  free(values);
  free(results);
  return good;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ready, all_ready = 0, cases = 0, failures = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ready = start_cuda(rank);
  MPI_Allreduce(&ready, &all_ready, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all_ready) {
    if (rank == 0) printf("no GPU here\n");
    MPI_Finalize();
    return 77;
  }
  static const int counts[] = {1, 2, 1000, 4099, 262144, 5000001, 64 << 20};
  for (unsigned c = 0; c < sizeof counts / sizeof *counts; ++c)
    for (int maximum = 0; maximum < 2; ++maximum)
      for (int in_place = 0; in_place < 2; ++in_place)
        for (int mixed = 0; mixed < 2; ++mixed) {
          const MPI_Op operation = maximum ? MPI_MAX : MPI_SUM;
          int good = right(counts[c], operation, in_place, !mixed || rank % 2 == 0), all_good = 0;
          MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
          ++cases;
          failures += !all_good;
          if (!all_good && rank == 0)
            printf("FAILED: %s of %d floats%s%s\n", maximum ? "maximum" : "sum", counts[c],
                   in_place ? ", in place" : "", mixed ? ", odd ranks in host memory" : "");
        }
  if (rank == 0) printf("%d of %d all-reduces are right\n", cases - failures, cases);
  MPI_Finalize();
  return failures != 0;
}
