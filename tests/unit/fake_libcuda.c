// SPDX-License-Identifier: BSD-3-Clause
// A libcuda.so.1 for machines without a GPU: the calls that src/device/cuda makes, over memory of the host. What is
// enqueued runs at once, kernels are run by the test. It is stricter than CUDA where CUDA's manual asks for more than
// its library checks: a context that is not current is an error.
#include "fake_libcuda_state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { most_allocations = 64, most_calls = 128, most_depth = 16 };

static struct allocation allocations[most_allocations];
static unsigned long long last_id;
static struct {
  const char* name;
  unsigned count;
} counts[most_calls];
static struct CUctx_st primaries[fake_devices], own_contexts[fake_devices];
static __thread CUcontext stack[most_depth];
static __thread int depth;
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

struct allocation* fake_range_at(const void* pointer) {
  const char* at = pointer;
  for (int i = 0; i < most_allocations; ++i)
    if (allocations[i].begin != NULL && at >= allocations[i].begin && at < allocations[i].begin + allocations[i].bytes)
      return &allocations[i];
  return NULL;
}

struct allocation* fake_allocation_at(const void* pointer) {
  struct allocation* const found = fake_range_at(pointer);
  return found == NULL || found->kind == fake_reserved ? NULL : found;
}

unsigned long long fake_new_id(void) { return ++last_id; }

static unsigned access_at_first(enum fake_memory kind, int device) {
  if (kind == fake_reserved) return 0;
  return kind == fake_pool || kind == fake_mapped ? 1u << device : ~0u;
}

static void* add_aligned(enum fake_memory kind, int device, size_t bytes, size_t alignment) {
  for (int i = 0; i < most_allocations; ++i)
    if (allocations[i].begin == NULL) {
      char* const begin = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
      allocations[i] = (struct allocation){.begin = begin,
                                           .bytes = bytes,
                                           .kind = kind,
                                           .device = device,
                                           .id = fake_new_id(),
                                           .access = access_at_first(kind, device)};
      return begin;
    }
  return NULL;
}
static void* add(enum fake_memory kind, int device, size_t bytes) {
  return add_aligned(kind, device, bytes, fake_page);
}

CUresult fake_allocate(CUdeviceptr* place, enum fake_memory kind, int device, size_t bytes, size_t alignment) {
  void* const memory = add_aligned(kind, device, bytes, alignment);
  NEEDS(memory != NULL, CUDA_ERROR_OUT_OF_MEMORY);
  *place = (CUdeviceptr)(uintptr_t)memory;
  return CUDA_SUCCESS;
}

CUresult fake_release_at(void* memory) {
  struct allocation* const found = fake_range_at(memory);
  NEEDS(found != NULL && found->begin == memory, CUDA_ERROR_INVALID_VALUE);
  free(found->begin);
  found->begin = NULL;
  return CUDA_SUCCESS;
}

static void release(void* memory) { (void)fake_release_at(memory); }

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
  fake_forget_created();
  memset(counts, 0, sizeof counts);
  memset(primaries, 0, sizeof primaries);
  for (int device = 0; device < fake_devices; ++device)
    primaries[device].device = device;
  depth = fake_objects = 0;
  fake_libcuda.initialised = 1;
  fake_libcuda.version = 12040;
  fake_libcuda.lookup_needs_context = fake_libcuda.host_has_no_context = 0;
  fake_libcuda.events_pending = fake_libcuda.peers_denied = fake_libcuda.capturing = 0;
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

#define NAMED(code)                                                                                                    \
  { code, #code }
EXPORTED CUresult cuGetErrorName(CUresult code, const char** name) {
  static const struct {
    CUresult code;
    const char* name;
  } names[] = {NAMED(CUDA_ERROR_INVALID_VALUE),           NAMED(CUDA_ERROR_OUT_OF_MEMORY),
               NAMED(CUDA_ERROR_ECC_UNCORRECTABLE),       NAMED(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED),
               NAMED(CUDA_ERROR_UNSUPPORTED_PTX_VERSION), NAMED(CUDA_ERROR_NOT_FOUND),
               NAMED(CUDA_ERROR_ILLEGAL_ADDRESS),         NAMED(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES),
               NAMED(CUDA_ERROR_CONTEXT_IS_DESTROYED),    NAMED(CUDA_ERROR_TOO_MANY_PEERS)};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (names[i].code == code) {
      *name = names[i].name;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_VALUE; // as for a code that is newer than the driver
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
  *bytes = FAKE_DEVICE_BYTES;
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
  primaries[device].device = device;
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
