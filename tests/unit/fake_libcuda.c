// SPDX-License-Identifier: BSD-3-Clause
// A libcuda.so.1 for machines without a GPU: the calls that src/device/cuda makes, over memory of the host. What is
// enqueued runs at once, kernels are run by the test. It is stricter than CUDA where CUDA's manual asks for more than
// its library checks: a context that is not current is an error.
#define _GNU_SOURCE
#include "fake_libcuda.h"

#include <cuda.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

struct CUctx_st {
  int device;
  int retained;
};
struct CUstream_st {
  CUcontext context;
};
struct CUevent_st {
  CUcontext context;
};
struct CUmod_st {
  CUcontext context;
  const unsigned char* image;
};
struct CUfunc_st {
  char name[64];
};
struct allocation {
  char* begin;
  size_t bytes;
  enum fake_memory kind;
  int device;
  unsigned long long id;
  struct allocation* mapped; // what is mapped by a handle; null for memory that was allocated
};

enum { most_allocations = 64, most_calls = 64, most_depth = 16 };

static struct allocation allocations[most_allocations];
static unsigned long long last_id;
static struct {
  const char* name;
  unsigned count;
} counts[most_calls];
static struct CUctx_st primaries[fake_devices], own_contexts[fake_devices];
static CUcontext stack[most_depth];
static int depth, objects;
static struct CUfunc_st functions[128];
static int known_functions;

extern struct fake_libcuda fake_libcuda EXPORTED;

static unsigned calls(const char* name) {
  for (int i = 0; i < most_calls && counts[i].name != NULL; ++i)
    if (strcmp(counts[i].name, name) == 0) return counts[i].count;
  return 0;
}

// Every call begins with this: it is counted, and fails if the test says so.
static CUresult asked(const char* name) {
  int i = 0;
  while (i < most_calls - 1 && counts[i].name != NULL && strcmp(counts[i].name, name) != 0)
    ++i;
  counts[i].name = name;
  ++counts[i].count;
  if (fake_libcuda.failing != NULL && strcmp(fake_libcuda.failing, name) == 0)
    return (CUresult)fake_libcuda.failing_code;
  return fake_libcuda.initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
#define ASKED(name)                                                                                                    \
  do {                                                                                                                 \
    const CUresult answer = asked(name);                                                                               \
    if (answer != CUDA_SUCCESS) return answer;                                                                         \
  } while (0)
#define NEEDS(condition, code)                                                                                         \
  do {                                                                                                                 \
    if (!(condition)) return code;                                                                                     \
  } while (0)

static CUcontext current_context(void) { return depth == 0 ? NULL : stack[depth - 1]; }

static struct allocation* allocation_at(const void* pointer) {
  const char* at = pointer;
  for (int i = 0; i < most_allocations; ++i)
    if (allocations[i].begin != NULL && at >= allocations[i].begin && at < allocations[i].begin + allocations[i].bytes)
      return &allocations[i];
  return NULL;
}

static void* add(enum fake_memory kind, int device, size_t bytes) {
  for (int i = 0; i < most_allocations; ++i)
    if (allocations[i].begin == NULL) {
      void* const begin = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
      allocations[i] = (struct allocation){begin, bytes, kind, device, ++last_id, NULL};
      return begin;
    }
  return NULL;
}

static CUresult release_at(void* memory) {
  struct allocation* const found = allocation_at(memory);
  NEEDS(found != NULL && found->begin == memory, CUDA_ERROR_INVALID_VALUE);
  free(found->begin);
  found->begin = NULL;
  return CUDA_SUCCESS;
}

static void release(void* memory) { (void)release_at(memory); }

static void* enter_own_context(int device) {
  own_contexts[device].device = device;
  return stack[depth++] = &own_contexts[device];
}
static void leave_context(void) { --depth; }
static void* current(void) { return current_context(); }

static int left_over(void) {
  int left = objects;
  for (int device = 0; device < fake_devices; ++device)
    left += primaries[device].retained;
  for (int i = 0; i < most_allocations; ++i)
    left += allocations[i].begin != NULL;
  return left;
}

static void reset(void) {
  for (int i = 0; i < most_allocations; ++i)
    if (allocations[i].begin != NULL) release(allocations[i].begin);
  memset(counts, 0, sizeof counts);
  memset(primaries, 0, sizeof primaries);
  for (int device = 0; device < fake_devices; ++device)
    primaries[device].device = device;
  depth = objects = known_functions = 0;
  fake_libcuda.initialised = 1;
  fake_libcuda.version = 12040;
  fake_libcuda.lookup_needs_context = fake_libcuda.events_pending = fake_libcuda.peers_denied = 0;
  fake_libcuda.failing = fake_libcuda.missing_kernel = NULL;
  fake_libcuda.launched = NULL;
}

struct fake_libcuda fake_libcuda = {.version = 12040,
                                    .calls = calls,
                                    .reset = reset,
                                    .allocate = add,
                                    .release = release,
                                    .current = current,
                                    .enter_own_context = enter_own_context,
                                    .leave_context = leave_context,
                                    .left_over = left_over};

// ---- the library and its devices --------------------------------------------------------------------------------

EXPORTED CUresult cuInit(unsigned flags) {
  (void)flags;
  fake_libcuda.initialised = 1;
  ASKED("cuInit");
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDriverGetVersion(int* version) {
  *version = fake_libcuda.version; // needs no cuInit
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuGetErrorName(CUresult code, const char** name) {
  switch ((int)code) {
  case CUDA_ERROR_INVALID_VALUE:
    *name = "CUDA_ERROR_INVALID_VALUE";
    return CUDA_SUCCESS;
  case CUDA_ERROR_OUT_OF_MEMORY:
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return CUDA_SUCCESS;
  case CUDA_ERROR_NOT_FOUND:
    *name = "CUDA_ERROR_NOT_FOUND";
    return CUDA_SUCCESS;
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    *name = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
    return CUDA_SUCCESS;
  case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
    *name = "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED";
    return CUDA_SUCCESS;
  case CUDA_ERROR_ECC_UNCORRECTABLE:
    *name = "CUDA_ERROR_ECC_UNCORRECTABLE";
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE; // as for a code that is newer than the driver
  }
}

EXPORTED CUresult cuDeviceGetCount(int* count) {
  ASKED("cuDeviceGetCount");
  *count = fake_devices;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ASKED("cuDeviceGet");
  *device = ordinal;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  ASKED("cuDeviceGetName");
  NEEDS(device >= 0 && device < fake_devices, CUDA_ERROR_INVALID_DEVICE);
  strncpy(name, "Fake H100", (size_t)bytes);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGetPCIBusId(char* address, int bytes, CUdevice device) {
  ASKED("cuDeviceGetPCIBusId");
  NEEDS(device >= 0 && device < fake_devices, CUDA_ERROR_INVALID_DEVICE);
  strncpy(address, "0000:3b:00.0", (size_t)bytes);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  ASKED("cuDeviceTotalMem");
  NEEDS(device >= 0 && device < fake_devices, CUDA_ERROR_INVALID_DEVICE);
  *bytes = (size_t)80 << 30;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  ASKED("cuDeviceGetAttribute");
  NEEDS(attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT && device < fake_devices, CUDA_ERROR_INVALID_VALUE);
  *value = 2;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  ASKED("cuDeviceCanAccessPeer");
  *can = !fake_libcuda.peers_denied && device != peer;
  return CUDA_SUCCESS;
}

// ---- contexts ---------------------------------------------------------------------------------------------------

EXPORTED CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ASKED("cuDevicePrimaryCtxRetain");
  ++primaries[device].retained;
  *context = &primaries[device];
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  ASKED("cuDevicePrimaryCtxRelease");
  --primaries[device].retained;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  ASKED("cuDevicePrimaryCtxGetState");
  *flags = 0;
  *active = primaries[device].retained > 0;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuCtxGetCurrent(CUcontext* context) {
  ASKED("cuCtxGetCurrent");
  *context = current_context();
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuCtxPushCurrent(CUcontext context) {
  ASKED("cuCtxPushCurrent");
  NEEDS(context != NULL && depth < most_depth, CUDA_ERROR_INVALID_CONTEXT);
  stack[depth++] = context;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuCtxPopCurrent(CUcontext* context) {
  ASKED("cuCtxPopCurrent");
  NEEDS(depth > 0, CUDA_ERROR_INVALID_CONTEXT);
  *context = stack[--depth];
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuCtxSynchronize(void) {
  ASKED("cuCtxSynchronize");
  NEEDS(current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  ASKED("cuCtxEnablePeerAccess");
  NEEDS(current_context() != NULL && peer != current_context() && flags == 0, CUDA_ERROR_INVALID_CONTEXT);
  return calls("cuCtxEnablePeerAccess") > 1 ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS;
}

// ---- memory -----------------------------------------------------------------------------------------------------

static void answer(CUpointer_attribute attribute, const struct allocation* found, void* value) {
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *(unsigned*)value = found == NULL ? 0 : found->kind == fake_pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    *(int*)value = found == NULL ? -2 : found->device;
    return;
  case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    *(unsigned long long*)value = found == NULL ? 0 : found->id;
    return;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    *(CUdeviceptr*)value = found == NULL ? 0 : (CUdeviceptr)(uintptr_t)found->begin;
    return;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    *(size_t*)value = found == NULL ? 0 : found->bytes;
    return;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    *(unsigned*)value = found != NULL && found->kind == fake_managed;
    return;
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    *(unsigned char*)value = found != NULL && found->kind == fake_device;
    return;
  default:
    return;
  }
}

EXPORTED CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values,
                                         CUdeviceptr pointer) {
  ASKED("cuPointerGetAttributes");
  NEEDS(!fake_libcuda.lookup_needs_context || current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  const struct allocation* const found = allocation_at((const void*)(uintptr_t)pointer);
  for (unsigned i = 0; i < count; ++i)
    answer(attributes[i], found, values[i]);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemAlloc(CUdeviceptr* place, size_t bytes) {
  ASKED("cuMemAlloc");
  NEEDS(current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  *place = (CUdeviceptr)(uintptr_t)add(fake_device, current_context()->device, bytes);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemFree(CUdeviceptr place) {
  ASKED("cuMemFree");
  NEEDS(current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  return release_at((void*)(uintptr_t)place);
}

EXPORTED CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  ASKED("cuMemHostAlloc");
  NEEDS(current_context() != NULL && flags == CU_MEMHOSTALLOC_PORTABLE, CUDA_ERROR_INVALID_CONTEXT);
  *memory = add(fake_pinned, current_context()->device, bytes);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemFreeHost(void* memory) {
  ASKED("cuMemFreeHost");
  NEEDS(current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  return release_at(memory);
}

// A handle holds the address of the exported memory: all tests are one process.
EXPORTED CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr place) {
  ASKED("cuIpcGetMemHandle");
  struct allocation* const found = allocation_at((void*)(uintptr_t)place);
  NEEDS(found != NULL && found->kind == fake_device && current_context() != NULL, CUDA_ERROR_INVALID_VALUE);
  memset(handle, 0, sizeof *handle);
  memcpy(handle, &found, sizeof found);
  return CUDA_SUCCESS;
}

#ifndef FAKE_LIBCUDA_IS_OLD
EXPORTED CUresult cuIpcOpenMemHandle(CUdeviceptr* place, CUipcMemHandle handle, unsigned flags) {
  ASKED("cuIpcOpenMemHandle");
  struct allocation* exported = NULL;
  memcpy(&exported, &handle, sizeof exported);
  NEEDS(current_context() != NULL && flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS && exported->begin != NULL,
        CUDA_ERROR_INVALID_VALUE);
  void* const mapped = add(fake_device, exported->device, exported->bytes);
  allocation_at(mapped)->mapped = exported;
  *place = (CUdeviceptr)(uintptr_t)mapped;
  return CUDA_SUCCESS;
}
#endif

EXPORTED CUresult cuIpcCloseMemHandle(CUdeviceptr place) {
  ASKED("cuIpcCloseMemHandle");
  const struct allocation* const found = allocation_at((void*)(uintptr_t)place);
  NEEDS(found != NULL && found->mapped != NULL && current_context() != NULL, CUDA_ERROR_INVALID_VALUE);
  return release_at((void*)(uintptr_t)place);
}

// ---- streams, events and kernels --------------------------------------------------------------------------------

EXPORTED CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  ASKED("cuStreamCreate");
  NEEDS(current_context() != NULL && flags == CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_CONTEXT);
  *stream = malloc(sizeof **stream);
  (*stream)->context = current_context();
  ++objects;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamDestroy(CUstream stream) {
  ASKED("cuStreamDestroy");
  NEEDS(stream->context == current_context(), CUDA_ERROR_INVALID_CONTEXT);
  free(stream);
  --objects;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamSynchronize(CUstream stream) {
  ASKED("cuStreamSynchronize");
  NEEDS(stream->context == current_context(), CUDA_ERROR_INVALID_CONTEXT);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  ASKED("cuStreamWaitEvent");
  NEEDS(stream->context == current_context() && event->context != NULL && flags == 0, CUDA_ERROR_INVALID_CONTEXT);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  ASKED("cuMemcpyAsync");
  NEEDS(stream->context == current_context(), CUDA_ERROR_INVALID_CONTEXT);
  memcpy((void*)(uintptr_t)to, (const void*)(uintptr_t)from, bytes);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventCreate(CUevent* event, unsigned flags) {
  ASKED("cuEventCreate");
  NEEDS(current_context() != NULL && flags == CU_EVENT_DISABLE_TIMING, CUDA_ERROR_INVALID_CONTEXT);
  *event = malloc(sizeof **event);
  (*event)->context = current_context();
  ++objects;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventDestroy(CUevent event) {
  ASKED("cuEventDestroy");
  free(event);
  --objects;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventRecord(CUevent event, CUstream stream) {
  ASKED("cuEventRecord");
  NEEDS(stream->context == current_context() && event->context == current_context(), CUDA_ERROR_INVALID_CONTEXT);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventQuery(CUevent event) {
  ASKED("cuEventQuery");
  NEEDS(event->context != NULL, CUDA_ERROR_INVALID_HANDLE);
  return fake_libcuda.events_pending ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

EXPORTED CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  ASKED("cuModuleLoadData");
  NEEDS(current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  uint32_t magic = 0;
  memcpy(&magic, image, sizeof magic);
  NEEDS(magic == 0xba55ed50u, CUDA_ERROR_INVALID_IMAGE); // of a fatbin
  *module = malloc(sizeof **module);
  **module = (struct CUmod_st){current_context(), image};
  ++objects;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuModuleUnload(CUmodule module) {
  ASKED("cuModuleUnload");
  NEEDS(module->context == current_context(), CUDA_ERROR_INVALID_CONTEXT);
  free(module);
  --objects;
  return CUDA_SUCCESS;
}

// A kernel is there if its name stands in the code that nvcc made.
EXPORTED CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  ASKED("cuModuleGetFunction");
  uint64_t bytes = 0;
  memcpy(&bytes, module->image + 8, sizeof bytes); // of what follows the header
  NEEDS(memmem(module->image, bytes, name, strlen(name) + 1) != NULL, CUDA_ERROR_NOT_FOUND);
  NEEDS(fake_libcuda.missing_kernel == NULL || strcmp(name, fake_libcuda.missing_kernel) != 0, CUDA_ERROR_NOT_FOUND);
  *function = &functions[known_functions++ % 128];
  strncpy((*function)->name, name, sizeof(*function)->name - 1);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuLaunchKernel(CUfunction function, unsigned blocks, unsigned blocks_y, unsigned blocks_z,
                                 unsigned threads, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                                 CUstream stream, void** arguments, void** extra) {
  ASKED("cuLaunchKernel");
  NEEDS(stream->context == current_context(), CUDA_ERROR_INVALID_CONTEXT);
  NEEDS(blocks > 0 && blocks_y == 1 && blocks_z == 1 && threads_y == 1 && threads_z == 1 && shared_bytes == 0 &&
            extra == NULL,
        CUDA_ERROR_INVALID_VALUE);
  if (fake_libcuda.launched != NULL) fake_libcuda.launched(function->name, blocks, threads, arguments[0]);
  return CUDA_SUCCESS;
}
