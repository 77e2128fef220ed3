// SPDX-License-Identifier: BSD-3-Clause
// Of the libcuda for tests: what memory a pointer is in, memory of all kinds, and handles of it for other processes.
//
// Virtual memory has its bytes from when its addresses are reserved; what cuMemCreate gives is only counted, so that
// mappings of it do not show each other's values. A reservation is mapped as a whole.
#include "fake_libcuda_state.h"

#include <stdint.h>
#include <string.h>

enum { most_created = 64 };

struct created {
  size_t bytes; // 0: there is none
  int device;
  int mappings;
  int released;
};

static const size_t granularity = (size_t)2 << 20; // that of the GPUs of data centres
static struct created created[most_created];       // by handle, from 1 on

static void* address_at(CUdeviceptr place) { return (void*)(uintptr_t)place; }

int fake_reaches(int device, CUdeviceptr place) {
  const struct allocation* const found = fake_range_at(address_at(place));
  return found == NULL || ((found->access >> device) & 1) != 0;
}

void fake_forget_created(void) { memset(created, 0, sizeof created); }

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
  const struct allocation* const found = fake_allocation_at(address_at(pointer));
  NEEDS(!fake_libcuda.host_has_no_context || found != NULL, CUDA_ERROR_INVALID_CONTEXT);
  for (unsigned i = 0; i < count; ++i)
    answer(attributes[i], found, values[i]);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemAlloc(CUdeviceptr* place, size_t bytes) {
  ASKED("cuMemAlloc");
  NEEDS(fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  return fake_allocate(place, fake_device, fake_current_context()->device, bytes, fake_page);
}

EXPORTED CUresult cuMemAllocManaged(CUdeviceptr* place, size_t bytes, unsigned flags) {
  ASKED("cuMemAllocManaged");
  NEEDS(fake_current_context() != NULL && flags == CU_MEM_ATTACH_GLOBAL, CUDA_ERROR_INVALID_CONTEXT);
  return fake_allocate(place, fake_managed, fake_current_context()->device, bytes, fake_page);
}

EXPORTED CUresult cuMemFree(CUdeviceptr place) {
  ASKED("cuMemFree");
  const struct allocation* const found = fake_allocation_at(address_at(place));
  NEEDS(fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  NEEDS(found != NULL && found->kind != fake_pinned && found->kind != fake_mapped, CUDA_ERROR_INVALID_VALUE);
  return fake_release_at(address_at(place));
}

EXPORTED CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  ASKED("cuMemHostAlloc");
  NEEDS(fake_current_context() != NULL && flags == CU_MEMHOSTALLOC_PORTABLE, CUDA_ERROR_INVALID_CONTEXT);
  CUdeviceptr place = 0;
  const CUresult code = fake_allocate(&place, fake_pinned, fake_current_context()->device, bytes, fake_page);
  *memory = address_at(place);
  return code;
}

EXPORTED CUresult cuMemFreeHost(void* memory) {
  ASKED("cuMemFreeHost");
  const struct allocation* const found = fake_allocation_at(memory);
  NEEDS(fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  NEEDS(found != NULL && found->kind == fake_pinned, CUDA_ERROR_INVALID_VALUE);
  return fake_release_at(memory);
}

// A handle holds the address of the exported memory: all tests are one process.
EXPORTED CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr place) {
  ASKED("cuIpcGetMemHandle");
  struct allocation* const found = fake_allocation_at(address_at(place));
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
  const CUresult code = fake_allocate(place, fake_device, exported->device, exported->bytes, fake_page);
  if (code == CUDA_SUCCESS) fake_allocation_at(address_at(*place))->mapped = exported;
  return code;
}
#endif

EXPORTED CUresult cuIpcCloseMemHandle(CUdeviceptr place) {
  ASKED("cuIpcCloseMemHandle");
  const struct allocation* const found = fake_allocation_at(address_at(place));
  NEEDS(found != NULL && found->mapped != NULL && fake_current_context() != NULL, CUDA_ERROR_INVALID_VALUE);
  return fake_release_at(address_at(place));
}

EXPORTED CUresult cuMemGetInfo(size_t* left, size_t* all) {
  ASKED("cuMemGetInfo");
  NEEDS(fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  *left = *all = FAKE_DEVICE_BYTES;
  return CUDA_SUCCESS;
}

// Pools came with CUDA 11.2.
#ifndef FAKE_LIBCUDA_WITHOUT_WORDS
EXPORTED CUresult cuMemAllocAsync(CUdeviceptr* place, size_t bytes, CUstream stream) {
  ASKED("cuMemAllocAsync");
  const struct CUctx_st* const context = stream == NULL ? fake_current_context() : stream->context;
  NEEDS(context != NULL, CUDA_ERROR_INVALID_CONTEXT);
  NEEDS(bytes > 0, CUDA_ERROR_INVALID_VALUE);
  return fake_allocate(place, fake_pool, context->device, bytes, fake_page);
}

EXPORTED CUresult cuMemFreeAsync(CUdeviceptr place, CUstream stream) {
  ASKED("cuMemFreeAsync");
  const struct allocation* const found = fake_allocation_at(address_at(place));
  NEEDS(stream != NULL || fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  NEEDS(found != NULL && found->kind == fake_pool, CUDA_ERROR_INVALID_VALUE);
  return fake_release_at(address_at(place));
}
#endif

static CUresult check_properties(const CUmemAllocationProp* of) {
  NEEDS(of->type == CU_MEM_ALLOCATION_TYPE_PINNED && of->location.type == CU_MEM_LOCATION_TYPE_DEVICE,
        CUDA_ERROR_INVALID_VALUE);
  NEEDS(of->location.id >= 0 && of->location.id < fake_devices, CUDA_ERROR_INVALID_DEVICE);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* of,
                                                CUmemAllocationGranularity_flags which) {
  ASKED("cuMemGetAllocationGranularity");
  NEEDS(which == CU_MEM_ALLOC_GRANULARITY_MINIMUM || which == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED,
        CUDA_ERROR_INVALID_VALUE);
  *bytes = granularity;
  return check_properties(of);
}

static struct created* created_by(CUmemGenericAllocationHandle handle) {
  return handle >= 1 && handle <= most_created && created[handle - 1].bytes > 0 ? &created[handle - 1] : NULL;
}

static void end_if_unused(struct created* one) {
  if (one->mappings > 0 || !one->released) return;
  one->bytes = 0;
  --fake_objects;
}

// The range of that kind that begins and ends there; null if there is none.
static struct allocation* whole_range(CUdeviceptr place, size_t bytes, enum fake_memory kind) {
  struct allocation* const found = fake_range_at(address_at(place));
  const int is_whole = found != NULL && found->begin == address_at(place) && found->bytes == bytes;
  return is_whole && found->kind == kind ? found : NULL;
}

EXPORTED CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* of,
                              unsigned long long flags) {
  ASKED("cuMemCreate");
  NEEDS(bytes > 0 && bytes % granularity == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE);
  const CUresult checked = check_properties(of);
  NEEDS(checked == CUDA_SUCCESS, checked);
  for (int i = 0; i < most_created; ++i)
    if (created[i].bytes == 0) {
      created[i] = (struct created){bytes, of->location.id, 0, 0};
      *handle = (CUmemGenericAllocationHandle)i + 1;
      ++fake_objects;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// What is mapped stays until it is unmapped.
EXPORTED CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  ASKED("cuMemRelease");
  struct created* const one = created_by(handle);
  NEEDS(one != NULL && !one->released, CUDA_ERROR_INVALID_VALUE);
  one->released = 1;
  end_if_unused(one);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemAddressReserve(CUdeviceptr* place, size_t bytes, size_t alignment, CUdeviceptr wanted,
                                      unsigned long long flags) {
  ASKED("cuMemAddressReserve");
  (void)wanted; // a hint
  NEEDS(bytes > 0 && bytes % fake_page == 0 && (alignment & (alignment - 1)) == 0 && flags == 0,
        CUDA_ERROR_INVALID_VALUE);
  return fake_allocate(place, fake_reserved, -1, bytes, alignment > granularity ? alignment : granularity);
}

EXPORTED CUresult cuMemAddressFree(CUdeviceptr place, size_t bytes) {
  ASKED("cuMemAddressFree");
  NEEDS(whole_range(place, bytes, fake_reserved) != NULL, CUDA_ERROR_INVALID_VALUE);
  return fake_release_at(address_at(place));
}

EXPORTED CUresult cuMemMap(CUdeviceptr place, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                           unsigned long long flags) {
  ASKED("cuMemMap");
  struct created* const one = created_by(handle);
  struct allocation* const range = whole_range(place, bytes, fake_reserved);
  NEEDS(one != NULL && !one->released && offset == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE);
  NEEDS(range != NULL && bytes % granularity == 0 && bytes <= one->bytes, CUDA_ERROR_INVALID_VALUE);
  ++one->mappings;
  range->kind = fake_mapped;
  range->device = one->device;
  range->id = fake_new_id();
  range->created = handle;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemUnmap(CUdeviceptr place, size_t bytes) {
  ASKED("cuMemUnmap");
  struct allocation* const range = whole_range(place, bytes, fake_mapped);
  struct created* const one = range == NULL ? NULL : created_by(range->created);
  NEEDS(one != NULL, CUDA_ERROR_INVALID_VALUE);
  range->kind = fake_reserved;
  range->access = 0;
  --one->mappings;
  end_if_unused(one);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemSetAccess(CUdeviceptr place, size_t bytes, const CUmemAccessDesc* who, size_t count) {
  ASKED("cuMemSetAccess");
  struct allocation* const range = whole_range(place, bytes, fake_mapped);
  NEEDS(range != NULL, CUDA_ERROR_INVALID_VALUE);
  for (size_t i = 0; i < count; ++i) {
    NEEDS(who[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && who[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
          CUDA_ERROR_INVALID_VALUE);
    NEEDS(who[i].location.id >= 0 && who[i].location.id < fake_devices, CUDA_ERROR_INVALID_DEVICE);
  }
  for (size_t i = 0; i < count; ++i)
    range->access |= 1u << who[i].location.id;
  return CUDA_SUCCESS;
}
