// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/library.h"

#include <fmt/format.h>

#include <dlfcn.h>

namespace strata::device {
namespace {

constexpr int least_version = 11000;

/// What callers tell apart: what ran out, what can never work here, and what they got wrong. A device that is lost is
/// a resource that ran out.
ErrorKind kind_of(CUresult code) {
  switch (code) {
  case CUDA_ERROR_INVALID_VALUE:
  case CUDA_ERROR_INVALID_HANDLE:
  case CUDA_ERROR_INVALID_DEVICE:
    return ErrorKind::argument;
  case CUDA_ERROR_NOT_SUPPORTED:
  case CUDA_ERROR_NOT_PERMITTED:
  case CUDA_ERROR_OPERATING_SYSTEM:
  case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
  case CUDA_ERROR_TOO_MANY_PEERS:
  case CUDA_ERROR_MAP_FAILED:
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_NOT_FOUND:
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
  case CUDA_ERROR_JIT_COMPILATION_DISABLED:
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
  case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
  case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
  case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    return ErrorKind::unsupported;
  default:
    return ErrorKind::resource;
  }
}

} // namespace

Error Library::error(CUresult code, std::string_view what) const {
  const char* name = nullptr;
  if (cuGetErrorName(code, &name) == CUDA_SUCCESS && name != nullptr)
    return Error{kind_of(code), fmt::format("{}: {}", what, name)};
  return Error{kind_of(code), fmt::format("{}: CUDA error {}", what, static_cast<int>(code))};
}

Status Library::checked(CUresult code, std::string_view what) const {
  if (code == CUDA_SUCCESS) return ok();
  return error(code, what);
}

Result<Library> library_in(void* libcuda) {
  Library library;
  std::string missing;
  const auto look_for = [&](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(dlsym(libcuda, name));
  };
  const auto find = [&](auto& call, const char* name) {
    look_for(call, name);
    if (call == nullptr && missing.empty()) missing = name;
  };
#define STRATA_CUDA_TEXT(name) #name
#define STRATA_CUDA_FIND(call) find(library.call, STRATA_CUDA_TEXT(call));
#define STRATA_CUDA_LOOK_FOR(call) look_for(library.call, STRATA_CUDA_TEXT(call));
  STRATA_CUDA_CALLS(STRATA_CUDA_FIND)
  STRATA_CUDA_LATER_CALLS(STRATA_CUDA_LOOK_FOR)
#undef STRATA_CUDA_FIND
#undef STRATA_CUDA_LOOK_FOR
#undef STRATA_CUDA_TEXT
  if (!missing.empty())
    return Error{ErrorKind::unsupported,
                 fmt::format("libcuda.so.1 has no {}: the driver is older than CUDA 11.0", missing)};
  int version = 0;
  if (const CUresult code = library.cuDriverGetVersion(&version); code != CUDA_SUCCESS)
    return library.error(code, "cuDriverGetVersion");
  if (version < least_version)
    return Error{ErrorKind::unsupported, fmt::format("the driver is of CUDA {}.{}; needed is 11.0 or later",
                                                     version / 1000, version % 1000 / 10)};
  return library;
}

} // namespace strata::device
