// SPDX-License-Identifier: BSD-3-Clause
#include "transport/message.h"

#include <bit>

namespace strata::transport {

ArrivalTable::ArrivalTable(std::span<const Incoming> incoming, std::uint32_t window)
    : depth_(std::size_t{2} * (window == 0 ? 1 : window)), slots_(incoming.size() * depth_) {
  messages_.reserve(incoming.size());
  for (const Incoming& message : incoming)
    messages_.push_back({message.peer, packed(message.tag), message.begin, message.most_bytes});

  buckets_.assign(std::bit_ceil(2 * messages_.size() + 1), 0);
  const std::size_t mask = buckets_.size() - 1;
  for (std::size_t index = 0; index < messages_.size(); ++index) {
    const Message& message = messages_[index];
    std::size_t bucket = hash(message.peer, message.tag, message.begin) & mask;
    while (buckets_[bucket] != 0)
      bucket = (bucket + 1) & mask;
    buckets_[bucket] = static_cast<std::uint32_t>(index + 1);
  }
}

// Mixes as splitmix64's finalizer does: ranges begin at multiples of large powers of two, so low bits alone collide.
std::size_t ArrivalTable::hash(std::int32_t peer, std::uint32_t tag, sched::Unit begin) {
  std::uint64_t mixed = static_cast<std::uint64_t>(begin) * 0x9e3779b97f4a7c15u;
  mixed ^= (std::uint64_t{static_cast<std::uint32_t>(peer)} << 32) + tag;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return static_cast<std::size_t>(mixed ^ (mixed >> 31));
}

std::size_t ArrivalTable::find(std::int32_t peer, std::uint32_t tag, sched::Unit begin) const {
  const std::size_t mask = buckets_.size() - 1;
  for (std::size_t bucket = hash(peer, tag, begin) & mask; buckets_[bucket] != 0; bucket = (bucket + 1) & mask) {
    const std::size_t index = buckets_[bucket] - 1;
    const Message& message = messages_[index];
    if (message.peer == peer && message.tag == tag && message.begin == begin) return index;
  }
  return none;
}

bool ArrivalTable::put(std::size_t index, std::uint64_t slice, const Payload& payload) {
  Slot& here = slot(index, slice);
  const std::uint64_t there = here.slice_plus_one.load(std::memory_order_acquire);
  if (there == slice + 1) return false;
  // It may also have come while its slot was taken, and the slot may have become free since.
  if (overflowed() && look_overflow(index, slice).bytes != nullptr) return false;
  if (there == 0) {
    here.payload = payload;
    here.slice_plus_one.store(slice + 1, std::memory_order_release);
  } else {
    overflow_.push_back({index, slice, payload});
    overflow_count_.store(overflow_.size(), std::memory_order_release);
  }
  return true;
}

Payload ArrivalTable::look(std::size_t index, std::uint64_t slice) const {
  const Slot& here = slot(index, slice);
  if (here.slice_plus_one.load(std::memory_order_acquire) != slice + 1) return {};
  return here.payload;
}

Payload ArrivalTable::look_overflow(std::size_t index, std::uint64_t slice) const {
  for (const Overflow& entry : overflow_)
    if (entry.index == index && entry.slice == slice) return entry.payload;
  return {};
}

Payload ArrivalTable::drop_overflow(std::size_t position) {
  const Payload payload = overflow_[position].payload;
  overflow_[position] = overflow_.back();
  overflow_.pop_back();
  overflow_count_.store(overflow_.size(), std::memory_order_release);
  return payload;
}

Payload ArrivalTable::take(std::size_t index, std::uint64_t slice) {
  Slot& here = slot(index, slice);
  if (here.slice_plus_one.load(std::memory_order_acquire) == slice + 1) {
    const Payload payload = here.payload;
    here.slice_plus_one.store(0, std::memory_order_release);
    return payload;
  }
  for (std::size_t position = 0; position < overflow_.size(); ++position)
    if (overflow_[position].index == index && overflow_[position].slice == slice) return drop_overflow(position);
  return {};
}

Payload ArrivalTable::take_any() {
  if (!overflow_.empty()) return drop_overflow(overflow_.size() - 1);
  for (Slot& here : slots_) {
    if (here.slice_plus_one.load(std::memory_order_acquire) == 0) continue;
    here.slice_plus_one.store(0, std::memory_order_release);
    return here.payload;
  }
  return {};
}

} // namespace strata::transport
