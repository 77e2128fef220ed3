// SPDX-License-Identifier: BSD-3-Clause
// The reduction kernels of one device: loaded into its primary context when the first is launched.
#pragma once

#include "device/cuda/contexts.h"
#include "type/type.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

namespace strata::device {

/// The code for all GPUs that nvcc made, as a fatbin.
extern "C" const unsigned char strata_cuda_image[] __attribute__((visibility("hidden")));

class Kernels {
public:
  /// `most_blocks` of a launch, so that the program's kernels keep their multiprocessors; 0: four for each of these.
  Kernels(const Library& library, Contexts& contexts, std::int32_t device, std::uint64_t most_blocks);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  /// Enqueues a reduction of 2 inputs or more; the device's context is current. With no elements it says whether there
  /// is a kernel for it, and enqueues nothing.
  Status reduce(CUstream stream, type::Element element, type::Operation operation, void* to,
                std::span<const void* const> from, std::size_t count);

private:
  Status load();
  Result<CUfunction> find(type::Element element, type::Operation operation);
  std::uint64_t blocks_for(type::Element element, std::size_t count) const;

  const Library& library_;
  Contexts& contexts_;
  const std::int32_t device_;
  std::uint64_t most_blocks_;
  std::mutex mutex_; ///< of what follows
  CUmodule module_ = nullptr;
  std::optional<Error> failure_; ///< Why there is no module; it will not get better.
  std::array<std::array<CUfunction, type::operation_kinds>, type::element_kinds> functions_{};
};

/// The name of the kernel that reduces these: "strata_reduce_float32_sum".
std::string kernel_name(type::Element element, type::Operation operation);

} // namespace strata::device
