// SPDX-License-Identifier: BSD-3-Clause
#include "comm/call_blocks.h"

#include <algorithm>

namespace strata::comm {

bool CallBlocks::take(std::size_t wanted, std::size_t bytes) {
  blocks_.reserve(wanted); // nothing is leased yet if there is no memory for it
  while (blocks_.size() < wanted) {
    device::BounceBlock memory;
    if (bytes > 0) memory = blocks_.empty() ? pool_.lease(bytes) : pool_.lease_pinned(bytes);
    if (bytes > 0 && memory.begin == nullptr) break;
    blocks_.push_back({memory, false});
  }
  return !blocks_.empty();
}

std::size_t CallBlocks::use() {
  const auto free = std::find_if(blocks_.begin(), blocks_.end(), [](const Block& block) { return !block.in_use; });
  if (free == blocks_.end()) return none;
  free->in_use = true;
  return static_cast<std::size_t>(free - blocks_.begin());
}

bool CallBlocks::any_in_use() const {
  return std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.in_use; });
}

void CallBlocks::give_back() {
  for (const Block& block : blocks_)
    if (block.memory.begin != nullptr) pool_.give_back(block.memory);
  blocks_.clear();
}

} // namespace strata::comm
