// SPDX-License-Identifier: BSD-3-Clause
// The emulated accelerators of a process: what the driver and the program both use. One per process, as real ones.
#pragma once

#include "device/emulated/faults.h"
#include "device/emulated/memory.h"
#include "device/emulated/queue.h"

#include <atomic>
#include <set>
#include <utility>

namespace strata::device {

struct Accelerator {
  Faults faults;
  std::atomic<bool> initialised{false}; ///< by the program
  bool one_process = false;             ///< whose streams and frees wait for each other; tests have ranks as threads
  MemoryTable memory;
  std::atomic<std::uint64_t> copies{0};    ///< that have run, for Faults::lost_after
  std::atomic<std::uint64_t> questions{0}; ///< what memory a pointer is in
  std::mutex mutex;
  std::set<std::pair<std::int32_t, std::int32_t>> peers; ///< enabled: device and peer; under the mutex
  LateWorker worker;                                     ///< last: its thread uses the others

  /// Between any memory, by the thread of the queue.
  Status copy(void* to, const void* from, std::size_t bytes);
  /// Whether a kernel of `device` can use the memory.
  Status check_reach(std::int32_t device, const void* pointer, std::size_t bytes);
  /// Whether a copy in a stream of `device` can use the memory: not that of another device's pools.
  Status check_pools(std::int32_t device, const void* pointer) const;
};

} // namespace strata::device
