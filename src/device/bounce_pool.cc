// SPDX-License-Identifier: BSD-3-Clause
#include "device/bounce_pool.h"

#include <algorithm>
#include <cstdlib>

namespace strata::device {
namespace {

constexpr std::size_t page_bytes = 4096;
/// An idle block serves a lease of at least this part of it.
constexpr std::size_t most_waste = 4;

std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

} // namespace

BouncePool::~BouncePool() {
  for (const BounceBlock& block : idle_)
    release(block);
}

void BouncePool::release(const BounceBlock& block) {
  if (!block.pinned) {
    std::free(block.begin);
    return;
  }
  (void)driver_.free_pinned(block.begin); // nothing to be done about it
  pinned_bytes_ -= block.bytes;
  --pinned_blocks_;
}

BounceBlock BouncePool::lease_pinned(std::size_t bytes) {
  bytes = whole_pages(bytes);
  const std::lock_guard lock(mutex_);
  const auto fits = [&](const BounceBlock& block) { return block.bytes >= bytes && block.bytes / most_waste <= bytes; };
  if (const auto found = std::find_if(idle_.begin(), idle_.end(), fits); found != idle_.end()) {
    const BounceBlock block = *found;
    idle_.erase(found);
    return block;
  }
  while (!idle_.empty() && pinned_bytes_ + bytes > most_bytes_) {
    release(idle_.front()); // idle for the longest time
    idle_.erase(idle_.begin());
  }
  if (pinned_bytes_ + bytes > most_bytes_ || !why_not_.empty()) return {};
  idle_.reserve(pinned_blocks_ + 1); // giving back takes no memory
  const auto made = driver_.allocate_pinned(bytes);
  if (!made) {
    why_not_ = made.error().message;
    return {};
  }
  pinned_bytes_ += bytes;
  ++pinned_blocks_;
  return {static_cast<std::byte*>(*made), bytes, true};
}

BounceBlock BouncePool::lease(std::size_t bytes) {
  if (const BounceBlock pinned = lease_pinned(bytes); pinned.begin != nullptr) return pinned;
  void* const ordinary = std::aligned_alloc(page_bytes, whole_pages(bytes));
  if (ordinary == nullptr) return {};
  return {static_cast<std::byte*>(ordinary), whole_pages(bytes), false};
}

void BouncePool::give_back(const BounceBlock& block) {
  const std::lock_guard lock(mutex_);
  if (block.pinned)
    idle_.push_back(block);
  else
    release(block);
}

std::size_t BouncePool::pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  return pinned_bytes_;
}

std::string BouncePool::why_not() const {
  const std::lock_guard lock(mutex_);
  return why_not_;
}

} // namespace strata::device
