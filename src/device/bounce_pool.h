// SPDX-License-Identifier: BSD-3-Clause
// Pinned host memory that device buffers pass through: of the process, bounded, and kept for the next call, because
// pinning costs about as much as a copy of the same memory.
#pragma once

#include "device/driver.h"

#include <mutex>
#include <vector>

namespace strata::device {

struct BounceBlock {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  bool pinned = false; ///< else ordinary memory: copies are slower, and right
};

class BouncePool {
public:
  BouncePool(Driver& driver, std::size_t most_bytes) : driver_(driver), most_bytes_(most_bytes) {}
  ~BouncePool();
  BouncePool(const BouncePool&) = delete;
  BouncePool& operator=(const BouncePool&) = delete;

  /// Pinned memory within the bound. Nothing when there is none left, or when the driver gives none: then why_not().
  BounceBlock lease_pinned(std::size_t bytes);
  /// The same, or else ordinary memory, whatever the bound: a call that has one block can go on. Null only when the
  /// machine has no memory.
  BounceBlock lease(std::size_t bytes);
  void give_back(const BounceBlock& block);

  std::size_t most_bytes() const { return most_bytes_; }
  std::size_t pinned_bytes() const;
  /// Why the driver refused pinned memory, after which it is not asked again; empty: it never did.
  std::string why_not() const;

private:
  void release(const BounceBlock& block);

  Driver& driver_;
  std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::vector<BounceBlock> idle_;
  std::size_t pinned_bytes_ = 0, pinned_blocks_ = 0; ///< leased and idle
  std::string why_not_;
};

} // namespace strata::device
