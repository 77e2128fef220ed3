// SPDX-License-Identifier: BSD-3-Clause
// The emulated device's memory: every allocation is a file in memory that is mapped twice. The program and strata get
// the address of the first mapping, which for device memory has no access, so that a host that touches it dies of
// SIGSEGV as it would with a real device. Only the emulated copies and kernels know the second, the alias.
//
// Another process maps the same file through /proc/<pid>/fd/<fd>, and accepts it only with the nonce that stands behind
// the allocation's last page: process ids prove nothing where namespaces differ.
#pragma once

#include "device/driver.h"

#include <map>
#include <mutex>

namespace strata::device {

/// Whose memory it is, and where it comes from. Strata exports what is its own, and nothing else.
enum class Origin : std::uint8_t { strata, program, pool_of_program };

struct Allocation {
  Memory memory;
  std::byte* alias = nullptr;
  std::size_t mapped_bytes = 0;
  int descriptor = -1;
  std::uint64_t nonce = 0;
  std::string opened_from;    ///< what another process exported; empty for own memory
  std::uint32_t openings = 0; ///< how often that was opened and not closed
};

/// Thread-safe.
class MemoryTable {
public:
  MemoryTable() = default;
  ~MemoryTable();
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  /// New memory, filled with garbage. `at`: the address to have, where the caller has reserved room, or where memory
  /// of that size was freed; null: any.
  Result<std::byte*> allocate(Kind kind, std::int32_t device, std::size_t bytes, Origin origin, void* at = nullptr);
  /// Errors: argument, when nothing of that kind begins there.
  Status free(void* begin, Kind kind);

  Memory find(const void* pointer) const;
  /// Where the emulated copies and kernels find the range; what is no allocation's is the host's own. An error when the
  /// range leaves its allocation.
  Result<std::byte*> reach(const void* pointer, std::size_t bytes) const;

  /// Copies between any memory; an error, and no harm, when one of the ranges has been freed.
  Status copy(void* to, const void* from, std::size_t bytes) const;

  /// Whether it was opened from another process.
  bool is_opened(const void* pointer) const;
  Result<std::string> export_memory(const void* begin) const;
  Result<void*> open(const std::string& exported, std::int32_t device);
  Status close(void* begin);

  std::size_t count() const;

private:
  using Table = std::map<const std::byte*, Allocation>; ///< by begin
  Result<std::byte*> reach_locked(const void* pointer, std::size_t bytes) const;
  Table::const_iterator at_or_before(const void* pointer) const;
  Result<std::byte*> map(Allocation allocation, void* at);

  mutable std::mutex mutex_;
  Table table_;
  std::map<const std::byte*, std::size_t> freed_; ///< where an allocation was and none is: begin to bytes
  std::uint64_t last_buffer_ = 0;
};

} // namespace strata::device
