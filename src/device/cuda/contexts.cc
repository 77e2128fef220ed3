// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/contexts.h"

#include <fmt/format.h>

namespace strata::device {

Contexts::Contexts(const Library& library) : library_(library) {
  int count = 0;
  if (library.cuDeviceGetCount(&count) != CUDA_SUCCESS) return;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    Place place;
    if (library.cuDeviceGet(&place.device, ordinal) != CUDA_SUCCESS) return;
    places_.push_back(place);
  }
}

Contexts::~Contexts() {
  for (const Place& place : places_)
    if (place.context != nullptr) static_cast<void>(library_.cuDevicePrimaryCtxRelease(place.device));
}

Result<CUcontext> Contexts::primary(std::int32_t device) {
  if (device < 0 || device >= devices())
    return argument_error(fmt::format("there is no device {}; allowed are 0 to {}", device, devices() - 1));
  const std::lock_guard lock(mutex_);
  Place& place = places_[static_cast<std::size_t>(device)];
  if (place.context != nullptr) return place.context;
  CUcontext context = nullptr;
  if (const CUresult code = library_.cuDevicePrimaryCtxRetain(&context, place.device); code != CUDA_SUCCESS)
    return library_.error(code, fmt::format("cuDevicePrimaryCtxRetain of device {}", device));
  place.context = context;
  return context;
}

bool Contexts::is_active(std::int32_t device) const {
  unsigned flags = 0;
  int active = 0;
  return library_.cuDevicePrimaryCtxGetState(handle(device), &flags, &active) == CUDA_SUCCESS && active != 0;
}

CUcontext Contexts::any_active() {
  for (std::int32_t device = 0; device < devices(); ++device)
    if (is_active(device))
      if (const auto context = primary(device)) return *context;
  return nullptr;
}

} // namespace strata::device
