// SPDX-License-Identifier: BSD-3-Clause
// Of the libcuda for tests: streams, events, words and kernels.
#define _GNU_SOURCE
#include "fake_libcuda_state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct CUfunc_st functions[128];
static int known_functions; // since the library was loaded

void* fake_make_stream(void) {
  CUstream stream = malloc(sizeof *stream);
  stream->context = fake_current_context();
  ++fake_objects;
  return stream;
}
void fake_release_stream(void* stream) {
  free(stream);
  --fake_objects;
}

EXPORTED CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  ASKED("cuStreamCreate");
  NEEDS(fake_current_context() != NULL && flags == CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_CONTEXT);
  *stream = fake_make_stream();
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamDestroy(CUstream stream) {
  ASKED("cuStreamDestroy");
  NEEDS(stream->context == fake_current_context(), CUDA_ERROR_INVALID_CONTEXT);
  fake_release_stream(stream);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamSynchronize(CUstream stream) {
  ASKED("cuStreamSynchronize");
  NEEDS(stream->context == fake_current_context(), CUDA_ERROR_INVALID_CONTEXT);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  ASKED("cuStreamWaitEvent");
  NEEDS(stream->context == fake_current_context() && event->context != NULL && flags == 0, CUDA_ERROR_INVALID_CONTEXT);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  ASKED("cuStreamGetCtx");
  *context = stream == NULL ? fake_current_context() : stream->context;
  return *context == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  ASKED("cuStreamIsCapturing");
  (void)stream;
  *status = fake_libcuda.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  ASKED("cuThreadExchangeStreamCaptureMode");
  static __thread CUstreamCaptureMode present = CU_STREAM_CAPTURE_MODE_GLOBAL;
  const CUstreamCaptureMode before = present;
  present = *mode;
  *mode = before;
  return CUDA_SUCCESS;
}

#ifndef FAKE_LIBCUDA_WITHOUT_WORDS
static CUresult check_word(CUstream stream, CUdeviceptr place) {
  const struct allocation* const found = fake_allocation_at((const void*)(uintptr_t)place);
  NEEDS(fake_current_context() != NULL && (stream == NULL || stream->context == fake_current_context()),
        CUDA_ERROR_INVALID_CONTEXT);
  NEEDS(found != NULL && (found->kind == fake_pinned || found->kind == fake_device) && place % 4 == 0,
        CUDA_ERROR_INVALID_VALUE);
  return CUDA_SUCCESS;
}

// What is enqueued runs at once, so that a wait is only counted.
EXPORTED CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr place, cuuint32_t value, unsigned flags) {
  ASKED("cuStreamWaitValue32");
  (void)value;
  NEEDS(flags == CU_STREAM_WAIT_VALUE_GEQ, CUDA_ERROR_INVALID_VALUE);
  return check_word(stream, place);
}

EXPORTED CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr place, cuuint32_t value, unsigned flags) {
  ASKED("cuStreamWriteValue32");
  NEEDS(flags == CU_STREAM_WRITE_VALUE_DEFAULT, CUDA_ERROR_INVALID_VALUE);
  const CUresult checked = check_word(stream, place);
  if (checked == CUDA_SUCCESS) *(uint32_t*)(uintptr_t)place = value;
  return checked;
}
#endif

EXPORTED CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  ASKED("cuMemcpyAsync");
  NEEDS(stream->context == fake_current_context(), CUDA_ERROR_INVALID_CONTEXT);
  NEEDS(fake_reaches(stream->context->device, to) && fake_reaches(stream->context->device, from),
        CUDA_ERROR_INVALID_VALUE);
  memcpy((void*)(uintptr_t)to, (const void*)(uintptr_t)from, bytes);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventCreate(CUevent* event, unsigned flags) {
  ASKED("cuEventCreate");
  NEEDS(fake_current_context() != NULL && flags == CU_EVENT_DISABLE_TIMING, CUDA_ERROR_INVALID_CONTEXT);
  *event = malloc(sizeof **event);
  (*event)->context = fake_current_context();
  ++fake_objects;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventDestroy(CUevent event) {
  ASKED("cuEventDestroy");
  free(event);
  --fake_objects;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventRecord(CUevent event, CUstream stream) {
  ASKED("cuEventRecord");
  NEEDS(stream->context == fake_current_context() && event->context == fake_current_context(),
        CUDA_ERROR_INVALID_CONTEXT);
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventQuery(CUevent event) {
  ASKED("cuEventQuery");
  NEEDS(event->context != NULL, CUDA_ERROR_INVALID_HANDLE);
  return fake_libcuda.events_pending ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

EXPORTED CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  ASKED("cuModuleLoadData");
  NEEDS(fake_current_context() != NULL, CUDA_ERROR_INVALID_CONTEXT);
  uint32_t magic = 0;
  memcpy(&magic, image, sizeof magic);
  NEEDS(magic == 0xba55ed50u, CUDA_ERROR_INVALID_IMAGE); // of a fatbin
  *module = malloc(sizeof **module);
  **module = (struct CUmod_st){fake_current_context(), image};
  ++fake_objects;
  return CUDA_SUCCESS;
}

EXPORTED CUresult cuModuleUnload(CUmodule module) {
  ASKED("cuModuleUnload");
  NEEDS(module->context == fake_current_context(), CUDA_ERROR_INVALID_CONTEXT);
  free(module);
  --fake_objects;
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
  NEEDS(stream->context == fake_current_context(), CUDA_ERROR_INVALID_CONTEXT);
  NEEDS(blocks > 0 && blocks_y == 1 && blocks_z == 1 && threads_y == 1 && threads_z == 1 && shared_bytes == 0 &&
            extra == NULL,
        CUDA_ERROR_INVALID_VALUE);
  if (fake_libcuda.launched != NULL) fake_libcuda.launched(function->name, blocks, threads, arguments[0]);
  return CUDA_SUCCESS;
}
