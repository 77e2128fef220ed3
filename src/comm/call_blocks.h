// SPDX-License-Identifier: BSD-3-Clause
// The host memory that the slices of one call pass through: equal blocks of the process' pool.
#pragma once

#include "device/bounce_pool.h"

#include <cstddef>
#include <vector>

namespace strata::comm {

class CallBlocks {
public:
  explicit CallBlocks(device::BouncePool& pool) : pool_(pool) {}
  ~CallBlocks() { give_back(); }
  CallBlocks(const CallBlocks&) = delete;
  CallBlocks& operator=(const CallBlocks&) = delete;

  /// At least one block and `wanted` at most: a call that has one can go on, more of them let slices overlap. Blocks of
  /// 0 bytes only count the slices. False: there is no memory for one.
  bool take(std::size_t wanted, std::size_t bytes);
  static constexpr std::size_t none = SIZE_MAX;
  /// A block that no slice uses, for one; none when all are in use.
  std::size_t use();
  void release(std::size_t block) { blocks_[block].in_use = false; }
  std::byte* begin(std::size_t block) const { return blocks_[block].memory.begin; }
  /// Whether some slice uses one: of a call that was given up, whose copies may still be under way.
  bool any_in_use() const;
  void give_back();

private:
  struct Block {
    device::BounceBlock memory; ///< none, where it has 0 bytes
    bool in_use = false;
  };
  device::BouncePool& pool_;
  std::vector<Block> blocks_;
};

} // namespace strata::comm
