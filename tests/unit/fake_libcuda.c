// SPDX-License-Identifier: BSD-3-Clause
// A libcuda.so.1 for machines without a GPU: the calls that src/device/cuda makes, over memory of the host. What is
// enqueued runs at once, kernels are run by the test. It is stricter than CUDA where CUDA's manual asks for more than
// its library checks: a context that is not current is an error.
#include "fake_libcuda_state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { most_allocations = 64, most_calls = 64, most_depth = 16 };

static struct allocation allocations[most_allocations];
static unsigned long long last_id;
static struct {
  const char* name;
  unsigned count;
} counts[most_calls];
static struct CUctx_st primaries[fake_devices], own_contexts[fake_devices];
static CUcontext stack[most_depth];
static int depth;
int fake_objects;

static unsigned calls(const char* name) {
  for (int i = 0; i < most_calls && counts[i].name != NULL; ++i)
    if (strcmp(counts[i].name, name) == 0) return counts[i].count;
  return 0;
}

CUresult fake_asked(const char* name) {
  int i = 0;
  while (i < most_calls - 1 && counts[i].name != NULL && strcmp(counts[i].name, name) != 0)
    ++i;
  counts[i].name = name;
  ++counts[i].count;
  if (fake_libcuda.failing != NULL && strcmp(fake_libcuda.failing, name) == 0)
    return (CUresult)fake_libcuda.failing_code;
  return fake_libcuda.initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUcontext fake_current_context(void) { return depth == 0 ? NULL : stack[depth - 1]; }

struct allocation* fake_allocation_at(const void* pointer) {
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
  struct allocation* const found = fake_allocation_at(memory);
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
static void* current(void) { return fake_current_context(); }

static int left_over(void) {
  int left = fake_objects;
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
  depth = fake_objects = 0;
  fake_libcuda.initialised = 1;
  fake_libcuda.version = 12040;
  fake_libcuda.lookup_needs_context = fake_libcuda.events_pending = fake_libcuda.peers_denied = 0;
  fake_libcuda.capturing = 0;
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
                                    .make_stream = fake_make_stream,
                                    .release_stream = fake_release_stream,
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

// For programs that cannot see fake_libcuda: FAKE_LIBCUDA_DEVICES=0 leaves no device, FAKE_LIBCUDA_SILENT=1 lets device
// 1 not tell its memory.
static int by_environment(const char* name, int otherwise) {
  const char* const text = getenv(name);
  return text == NULL ? otherwise : atoi(text);
}

EXPORTED CUresult cuDeviceGetCount(int* count) {
  ASKED("cuDeviceGetCount");
  *count = by_environment("FAKE_LIBCUDA_DEVICES", fake_devices);
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
  static const char* const addresses[fake_devices] = {"0000:3b:00.0", "0000:5E:00.0", "0000:AF:00.0"};
  strncpy(address, addresses[device], (size_t)bytes);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  ASKED("cuDeviceTotalMem");
  NEEDS(device >= 0 && device < fake_devices, CUDA_ERROR_INVALID_DEVICE);
  NEEDS(device != by_environment("FAKE_LIBCUDA_SILENT", -1), CUDA_ERROR_ECC_UNCORRECTABLE);
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
  *context = fake_current_context();
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuCtxGetDevice(CUdevice* device) {
  ASKED("cuCtxGetDevice");
  NEEDS(fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  *device = fake_current_context()->device;
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
  NEEDS(fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  ASKED("cuCtxEnablePeerAccess");
  NEEDS(fake_current_context() != NULL && peer != fake_current_context() && flags == 0, CUDA_ERROR_INVALID_CONTEXT);
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
  NEEDS(!fake_libcuda.lookup_needs_context || fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  const struct allocation* const found = fake_allocation_at((const void*)(uintptr_t)pointer);
  for (unsigned i = 0; i < count; ++i)
    answer(attributes[i], found, values[i]);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemAlloc(CUdeviceptr* place, size_t bytes) {
  ASKED("cuMemAlloc");
  NEEDS(fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  *place = (CUdeviceptr)(uintptr_t)add(fake_device, fake_current_context()->device, bytes);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemAllocManaged(CUdeviceptr* place, size_t bytes, unsigned flags) {
  ASKED("cuMemAllocManaged");
  NEEDS(fake_current_context() != NULL && flags == CU_MEM_ATTACH_GLOBAL, CUDA_ERROR_INVALID_CONTEXT);
  *place = (CUdeviceptr)(uintptr_t)add(fake_managed, fake_current_context()->device, bytes);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemFree(CUdeviceptr place) {
  ASKED("cuMemFree");
  NEEDS(fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  return release_at((void*)(uintptr_t)place);
}

EXPORTED CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  ASKED("cuMemHostAlloc");
  NEEDS(fake_current_context() != NULL && flags == CU_MEMHOSTALLOC_PORTABLE, CUDA_ERROR_INVALID_CONTEXT);
  *memory = add(fake_pinned, fake_current_context()->device, bytes);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemFreeHost(void* memory) {
  ASKED("cuMemFreeHost");
  NEEDS(fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  return release_at(memory);
}

// A handle holds the address of the exported memory: all tests are one process.
EXPORTED CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr place) {
  ASKED("cuIpcGetMemHandle");
  struct allocation* const found = fake_allocation_at((void*)(uintptr_t)place);
  NEEDS(found != NULL && found->kind == fake_device && fake_current_context() != NULL, CUDA_ERROR_INVALID_VALUE);
  memset(handle, 0, sizeof *handle);
  memcpy(handle, &found, sizeof found);
  return CUDA_SUCCESS;
}

#ifndef FAKE_LIBCUDA_IS_OLD
EXPORTED CUresult cuIpcOpenMemHandle(CUdeviceptr* place, CUipcMemHandle handle, unsigned flags) {
  ASKED("cuIpcOpenMemHandle");
  struct allocation* exported = NULL;
  memcpy(&exported, &handle, sizeof exported);
  NEEDS(fake_current_context() != NULL && flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS && exported->begin != NULL,
        CUDA_ERROR_INVALID_VALUE);
  void* const mapped = add(fake_device, exported->device, exported->bytes);
  fake_allocation_at(mapped)->mapped = exported;
  *place = (CUdeviceptr)(uintptr_t)mapped;
  return CUDA_SUCCESS;
}
#endif

EXPORTED CUresult cuIpcCloseMemHandle(CUdeviceptr place) {
  ASKED("cuIpcCloseMemHandle");
  const struct allocation* const found = fake_allocation_at((void*)(uintptr_t)place);
  NEEDS(found != NULL && found->mapped != NULL && fake_current_context() != NULL, CUDA_ERROR_INVALID_VALUE);
  return release_at((void*)(uintptr_t)place);
}
