// SPDX-License-Identifier: BSD-3-Clause
// Memory of all kinds for programs on a machine with a GPU, by nothing but CUDA's driver, which is found at run time:
// no toolkit is needed, neither to build them nor to run them. Calls and structures are as in cuda.h since CUDA 10.2.
//
//     if (!open_gpu_driver()) ...                    before MPI_Init, as programs do that use a GPU
//     if (!choose_gpu(rank_in_node)) ...             its primary context is this thread's from now on
//     struct memory some = allocate(device_memory, bytes);
//     write_memory(&some, 0, values, bytes);         done when it returns, as is read_memory()
//     release(&some);
//
// What a driver or a device lacks (pools came with CUDA 11.2) cannot be allocated, and nothing else.
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long gpu_place;

enum kind_of_memory {
  host_memory,    // malloc()
  pinned_memory,  // cuMemHostAlloc()
  managed_memory, // cuMemAllocManaged()
  device_memory,  // cuMemAlloc(), as cudaMalloc() does
  pool_memory,    // cuMemAllocAsync(), as cudaMallocAsync() does
  mapped_memory,  // cuMemCreate() and cuMemMap(), as allocators of frameworks do
  kinds_of_memory
};
static const char* const names_of_memory[] = {"host", "pinned", "managed", "device", "pool", "mapped"};

struct memory {
  enum kind_of_memory kind;
  unsigned char* begin;         // null: there is none
  size_t bytes;                 // of the whole allocation
  unsigned long long of_mapped; // its physical memory
};

// As CUmemLocation, CUmemAllocationProp and CUmemAccessDesc.
enum { at_a_device = 1, pinned_at_its_place = 1, read_and_write = 3 };
struct gpu_location {
  int type;
  int number;
};
struct gpu_allocation {
  int type;
  int handle_types;
  struct gpu_location location;
  void* of_windows;
  unsigned char flags[8];
};
struct gpu_access {
  struct gpu_location location;
  int flags;
};

// The driver's functions, all of which return 0 when all is well.
static struct {
  int (*initialise)(unsigned flags);
  int (*count_devices)(int* count);
  int (*find_device)(int* device, int number);
  int (*retain_context)(void** context, int device);
  int (*push_context)(void* context);
  int (*make_stream)(void** stream, unsigned flags);
  int (*synchronise)(void* stream);
  int (*copy)(gpu_place to, gpu_place from, size_t bytes, void* stream);
  int (*allocate)(gpu_place* place, size_t bytes);
  int (*allocate_managed)(gpu_place* place, size_t bytes, unsigned flags);
  int (*release)(gpu_place place);
  int (*allocate_pinned)(void** memory, size_t bytes, unsigned flags);
  int (*release_pinned)(void* memory);
  // Null where the driver has none:
  int (*memory_left)(size_t* left, size_t* all);
  int (*allocate_of_pool)(gpu_place* place, size_t bytes, void* stream);
  int (*release_of_pool)(gpu_place place, void* stream);
  int (*granularity)(size_t* bytes, const struct gpu_allocation* of, int which);
  int (*create)(unsigned long long* handle, size_t bytes, const struct gpu_allocation* of, unsigned long long flags);
  int (*release_created)(unsigned long long handle);
  int (*reserve)(gpu_place* place, size_t bytes, size_t alignment, gpu_place wanted, unsigned long long flags);
  int (*release_reserved)(gpu_place place, size_t bytes);
  int (*map)(gpu_place place, size_t bytes, size_t offset, unsigned long long handle, unsigned long long flags);
  int (*unmap)(gpu_place place, size_t bytes);
  int (*let_access)(gpu_place place, size_t bytes, const struct gpu_access* who, size_t count);
} gpu;
static int gpu_number;   // of the device that was chosen
static void* gpu_stream; // a stream of this program's, which does not wait for the default one

// Whether there is a driver with what every program needs, and it can start.
static int open_gpu_driver(void) {
  const struct {
    const char* name;
    void* call;
    int needed;
  } rows[] = {
      {"cuInit", &gpu.initialise, 1},
      {"cuDeviceGetCount", &gpu.count_devices, 1},
      {"cuDeviceGet", &gpu.find_device, 1},
      {"cuDevicePrimaryCtxRetain", &gpu.retain_context, 1},
      {"cuCtxPushCurrent_v2", &gpu.push_context, 1},
      {"cuStreamCreate", &gpu.make_stream, 1},
      {"cuStreamSynchronize", &gpu.synchronise, 1},
      {"cuMemcpyAsync", &gpu.copy, 1},
      {"cuMemAlloc_v2", &gpu.allocate, 1},
      {"cuMemAllocManaged", &gpu.allocate_managed, 1},
      {"cuMemFree_v2", &gpu.release, 1},
      {"cuMemHostAlloc", &gpu.allocate_pinned, 1},
      {"cuMemFreeHost", &gpu.release_pinned, 1},
      {"cuMemGetInfo_v2", &gpu.memory_left, 0},
      {"cuMemAllocAsync", &gpu.allocate_of_pool, 0},
      {"cuMemFreeAsync", &gpu.release_of_pool, 0},
      {"cuMemGetAllocationGranularity", &gpu.granularity, 0},
      {"cuMemCreate", &gpu.create, 0},
      {"cuMemRelease", &gpu.release_created, 0},
      {"cuMemAddressReserve", &gpu.reserve, 0},
      {"cuMemAddressFree", &gpu.release_reserved, 0},
      {"cuMemMap", &gpu.map, 0},
      {"cuMemUnmap", &gpu.unmap, 0},
      {"cuMemSetAccess", &gpu.let_access, 0},
  };
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) return 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    void* const found = dlsym(library, rows[i].name);
    if (found == NULL && rows[i].needed) return 0;
    memcpy(rows[i].call, &found, sizeof found);
  }
  return gpu.initialise(0) == 0;
}

// The ranks of a node take its GPUs in turn. Whether there is one, with a context and a stream on it.
static int choose_gpu(int rank_in_node) {
  int devices = 0, device = 0;
  void* context = NULL;
  if (gpu.count_devices(&devices) != 0 || devices < 1) return 0;
  gpu_number = rank_in_node % devices;
  return gpu.find_device(&device, gpu_number) == 0 && gpu.retain_context(&context, device) == 0 &&
         gpu.push_context(context) == 0 && gpu.make_stream(&gpu_stream, 1 /* CU_STREAM_NON_BLOCKING */) == 0;
}

// Bytes of the device's memory that nobody has taken; 0 when the driver does not say.
static inline size_t device_bytes_left(void) {
  size_t left = 0, all = 0;
  return gpu.memory_left != NULL && gpu.memory_left(&left, &all) == 0 ? left : 0;
}

static void* address_at(gpu_place place) { return (void*)(uintptr_t)place; }
static gpu_place place_of(const void* memory) { return (gpu_place)(uintptr_t)memory; }

static void unmap_memory(struct memory* memory) {
  const gpu_place place = place_of(memory->begin);
  (void)gpu.unmap(place, memory->bytes);
  (void)gpu.release_reserved(place, memory->bytes);
  (void)gpu.release_created(memory->of_mapped);
}

static int map_memory(struct memory* made) {
  const struct gpu_allocation of = {.type = pinned_at_its_place, .location = {at_a_device, gpu_number}};
  const struct gpu_access access = {{at_a_device, gpu_number}, read_and_write};
  size_t unit = 0;
  gpu_place place = 0;
  if (gpu.granularity == NULL || gpu.create == NULL || gpu.release_created == NULL || gpu.reserve == NULL ||
      gpu.release_reserved == NULL || gpu.map == NULL || gpu.unmap == NULL || gpu.let_access == NULL)
    return 0;
  if (gpu.granularity(&unit, &of, 0) != 0 || unit == 0) return 0;
  made->bytes = (made->bytes + unit - 1) / unit * unit;
  if (gpu.create(&made->of_mapped, made->bytes, &of, 0) != 0) return 0;
  if (gpu.reserve(&place, made->bytes, 0, 0, 0) != 0) {
    (void)gpu.release_created(made->of_mapped);
    return 0;
  }
  made->begin = address_at(place);
  if (gpu.map(place, made->bytes, 0, made->of_mapped, 0) == 0 && gpu.let_access(place, made->bytes, &access, 1) == 0)
    return 1;
  unmap_memory(made);
  return 0;
}

static struct memory allocate(enum kind_of_memory kind, size_t bytes) {
  struct memory made = {kind, NULL, bytes, 0};
  void* pinned = NULL;
  gpu_place place = 0;
  int done = 0;
  switch (kind) {
  case pinned_memory:
    done = gpu.allocate_pinned(&pinned, bytes, 1 /* CU_MEMHOSTALLOC_PORTABLE */) == 0;
    place = place_of(pinned);
    break;
  case managed_memory:
    done = gpu.allocate_managed(&place, bytes, 1 /* CU_MEM_ATTACH_GLOBAL */) == 0;
    break;
  case device_memory:
    done = gpu.allocate(&place, bytes) == 0;
    break;
  case pool_memory:
    done = gpu.allocate_of_pool != NULL && gpu.release_of_pool != NULL &&
           gpu.allocate_of_pool(&place, bytes, gpu_stream) == 0 && gpu.synchronise(gpu_stream) == 0;
    break;
  case mapped_memory:
    if (!map_memory(&made)) made.begin = NULL;
    return made;
  default:
    made.begin = malloc(bytes);
    return made;
  }
  made.begin = done ? address_at(place) : NULL;
  return made;
}

static void release(struct memory* memory) {
  const gpu_place place = place_of(memory->begin);
  if (memory->begin == NULL) return;
  switch (memory->kind) {
  case pinned_memory:
    (void)gpu.release_pinned(memory->begin);
    break;
  case managed_memory:
  case device_memory:
    (void)gpu.release(place);
    break;
  case pool_memory:
    (void)gpu.release_of_pool(place, gpu_stream);
    (void)gpu.synchronise(gpu_stream);
    break;
  case mapped_memory:
    unmap_memory(memory);
    break;
  default:
    free(memory->begin);
  }
  memory->begin = NULL;
}

static int copy_and_wait(void* to, const void* from, size_t bytes) {
  return gpu.copy(place_of(to), place_of(from), bytes, gpu_stream) == 0 && gpu.synchronise(gpu_stream) == 0;
}

// From and to ordinary memory of the host: whether it worked.
static inline int write_memory(const struct memory* to, size_t offset, const void* from, size_t bytes) {
  if (to->kind != host_memory) return copy_and_wait(to->begin + offset, from, bytes);
  memcpy(to->begin + offset, from, bytes);
  return 1;
}
static inline int read_memory(void* to, const struct memory* from, size_t offset, size_t bytes) {
  if (from->kind != host_memory) return copy_and_wait(to, from->begin + offset, bytes);
  memcpy(to, from->begin + offset, bytes);
  return 1;
}
