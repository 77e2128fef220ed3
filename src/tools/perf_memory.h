// SPDX-License-Identifier: BSD-3-Clause
// The memory in which strata-perf has its vectors: the host's, or an accelerator's.
#pragma once

#include "device/driver.h"
#include "tools/perf.h"

#include <functional>
#include <memory>

namespace strata::tools {

/// Memory that frees itself; null when there is none.
using Vector = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

class PerfMemory {
public:
  /// Opens and initialises the accelerator, if it is needed; `rank_in_node` chooses among several. The error says why
  /// there is none.
  static Result<PerfMemory> open(Where where, int rank_in_node);

  /// Whether the host cannot reach the vectors.
  bool is_apart() const { return where_ == Where::device; }
  /// "device memory of Fake H100"; empty for the host's.
  const std::string& name() const { return name_; }

  Result<Vector> allocate(std::size_t bytes);
  /// Host memory that the accelerator copies from and to at full speed.
  Result<Vector> allocate_for_host(std::size_t bytes);
  /// Between memory of any kind, so many times; until it is done.
  Status copy(void* to, const void* from, std::size_t bytes, std::uint64_t times = 1);

private:
  explicit PerfMemory(Where where) : where_(where) {}
  Result<Vector> held(Result<void*> allocated, Status (device::Driver::*free)(void*));

  Where where_;
  std::string name_;
  std::int32_t device_ = -1;
  std::shared_ptr<device::Driver> driver_; ///< null for the host's; vectors keep it
  std::unique_ptr<device::Stream> stream_; ///< last: of the driver
};

} // namespace strata::tools
