// SPDX-License-Identifier: BSD-3-Clause
// The primary contexts of the devices, in which all of strata's own work is done. They are the ones that the CUDA
// runtime uses, so that nothing is made twice in most programs.
#pragma once

#include "device/cuda/library.h"

#include <cstdint>
#include <mutex>
#include <vector>

namespace strata::device {

/// While it lives, a context is the thread's current one; the program's own is current again afterwards.
class Current {
public:
  Current(const Library& library, CUcontext context)
      : library_(library), pushed_(library.cuCtxPushCurrent(context) == CUDA_SUCCESS) {}
  ~Current() {
    CUcontext popped = nullptr;
    if (pushed_) static_cast<void>(library_.cuCtxPopCurrent(&popped));
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  /// If not, what is called under it tells why.
  bool is_current() const { return pushed_; }

private:
  const Library& library_;
  bool pushed_;
};

class Contexts {
public:
  explicit Contexts(const Library& library);
  /// Gives the retained ones back. Where the program has ended CUDA already, nothing happens.
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  std::int32_t devices() const { return static_cast<std::int32_t>(places_.size()); }
  CUdevice handle(std::int32_t device) const { return places_[static_cast<std::size_t>(device)].device; }
  /// The device's primary context, retained when it is first asked for, which makes it where the program has not.
  Result<CUcontext> primary(std::int32_t device);
  /// Whether this process has a primary context of the device by now.
  bool is_active(std::int32_t device) const;
  /// The primary context of a device that has one by now; null where no device has.
  CUcontext any_active();

private:
  struct Place {
    CUdevice device = 0;
    CUcontext context = nullptr; ///< Null until it is retained.
  };

  const Library& library_;
  std::mutex mutex_;
  std::vector<Place> places_;
};

} // namespace strata::device
