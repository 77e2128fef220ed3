// SPDX-License-Identifier: BSD-3-Clause
// What can be asked of every libcuda, also of one that is too old for strata, and without CUDA's headers.
#pragma once

#include <dlfcn.h>

namespace strata::device {

/// Whether somebody in this process has called cuInit, by a call that needs it and changes nothing.
inline bool is_initialised(void* libcuda) {
  const auto get_current = reinterpret_cast<int (*)(void**)>(dlsym(libcuda, "cuCtxGetCurrent"));
  void* context = nullptr;
  return get_current != nullptr && get_current(&context) == 0;
}

} // namespace strata::device
