// SPDX-License-Identifier: BSD-3-Clause
// The functions of libcuda.so.1, found at run time: nothing of strata is linked to CUDA, and the library is only looked
// for where the program has loaded it.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

#include <cuda.h>

namespace strata::device {

/// The calls in use, of CUDA 11.0 and later. cuda.h gives some of the names a version, as in cuMemAlloc_v2.
#define STRATA_CUDA_CALLS(CALL)                                                                                        \
  CALL(cuCtxEnablePeerAccess)                                                                                          \
  CALL(cuCtxGetCurrent)                                                                                                \
  CALL(cuCtxGetDevice)                                                                                                 \
  CALL(cuCtxPopCurrent)                                                                                                \
  CALL(cuCtxPushCurrent)                                                                                               \
  CALL(cuCtxSynchronize)                                                                                               \
  CALL(cuDeviceCanAccessPeer)                                                                                          \
  CALL(cuDeviceGet)                                                                                                    \
  CALL(cuDeviceGetAttribute)                                                                                           \
  CALL(cuDeviceGetCount)                                                                                               \
  CALL(cuDeviceGetName)                                                                                                \
  CALL(cuDeviceGetPCIBusId)                                                                                            \
  CALL(cuDevicePrimaryCtxGetState)                                                                                     \
  CALL(cuDevicePrimaryCtxRelease)                                                                                      \
  CALL(cuDevicePrimaryCtxRetain)                                                                                       \
  CALL(cuDeviceTotalMem)                                                                                               \
  CALL(cuDriverGetVersion)                                                                                             \
  CALL(cuEventCreate)                                                                                                  \
  CALL(cuEventDestroy)                                                                                                 \
  CALL(cuEventQuery)                                                                                                   \
  CALL(cuEventRecord)                                                                                                  \
  CALL(cuGetErrorName)                                                                                                 \
  CALL(cuInit)                                                                                                         \
  CALL(cuIpcCloseMemHandle)                                                                                            \
  CALL(cuIpcGetMemHandle)                                                                                              \
  CALL(cuIpcOpenMemHandle)                                                                                             \
  CALL(cuLaunchKernel)                                                                                                 \
  CALL(cuMemAlloc)                                                                                                     \
  CALL(cuMemAllocManaged)                                                                                              \
  CALL(cuMemFree)                                                                                                      \
  CALL(cuMemFreeHost)                                                                                                  \
  CALL(cuMemHostAlloc)                                                                                                 \
  CALL(cuMemcpyAsync)                                                                                                  \
  CALL(cuModuleGetFunction)                                                                                            \
  CALL(cuModuleLoadData)                                                                                               \
  CALL(cuModuleUnload)                                                                                                 \
  CALL(cuPointerGetAttributes)                                                                                         \
  CALL(cuStreamCreate)                                                                                                 \
  CALL(cuStreamDestroy)                                                                                                \
  CALL(cuStreamGetCtx)                                                                                                 \
  CALL(cuStreamIsCapturing)                                                                                            \
  CALL(cuStreamSynchronize)                                                                                            \
  CALL(cuStreamWaitEvent)                                                                                              \
  CALL(cuThreadExchangeStreamCaptureMode)

/// Those that a driver of CUDA 11.0 to 11.6 may not have by the name that cuda.h gives them; null then.
#define STRATA_CUDA_LATER_CALLS(CALL)                                                                                  \
  CALL(cuStreamWaitValue32)                                                                                            \
  CALL(cuStreamWriteValue32)

/// The members are called as the functions: library.cuMemAlloc(…) stands for cuMemAlloc_v2 as cuda.h would have it.
struct Library {
#define STRATA_CUDA_MEMBER(call) decltype(&::call) call = nullptr;
  STRATA_CUDA_CALLS(STRATA_CUDA_MEMBER)
  STRATA_CUDA_LATER_CALLS(STRATA_CUDA_MEMBER)
#undef STRATA_CUDA_MEMBER

  /// Success, or the error that `what` ("cuMemAlloc of 4096 bytes on device 0") ended in:
  /// `cuMemAlloc of 4096 bytes on device 0: CUDA_ERROR_OUT_OF_MEMORY`.
  Status checked(CUresult code, std::string_view what) const;
  Error error(CUresult code, std::string_view what) const;
};

/// The functions in an opened libcuda. Errors (unsupported): one that is missing, a driver before CUDA 11.0.
Result<Library> library_in(void* libcuda);

} // namespace strata::device
