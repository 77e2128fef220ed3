// SPDX-License-Identifier: BSD-3-Clause
// Device memory of other processes, mapped by CUDA's legacy handles: those of memory from cuMemAlloc and cudaMalloc.
// Memory from pools and virtual mappings has none.
#pragma once

#include "device/cuda/contexts.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace strata::device {

class Mappings {
public:
  Mappings(const Library& library, Contexts& contexts) : library_(library), contexts_(contexts) {}
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;
  /// Closes what is still open.
  ~Mappings();

  /// `buffer` is the id of the allocation.
  Result<std::string> export_memory(void* memory, std::int32_t device, std::uint64_t buffer);
  Result<void*> open(const std::string& exported, std::int32_t device);
  Status close(void* memory);

private:
  struct Mapping {
    CUdeviceptr memory = 0;
    std::size_t uses = 0;
  };

  bool is_stale(const std::string& text, std::int32_t device) const;

  const Library& library_;
  Contexts& contexts_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::int32_t>, Mapping>
      open_; ///< by what was exported and the device it is mapped for
};

} // namespace strata::device
