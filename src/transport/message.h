// SPDX-License-Identifier: BSD-3-Clause
// Messages on a wire: what the transports between nodes (ucx, mpi) share.
//
// A message carries its identity, so that the order of arrival means nothing. The receiver turns (sender, tag, begin)
// into the index of an incoming message of the channel, and keeps the payload, still in the transport's memory, in a
// table until the engine releases it:
//
//     wire:   context key | plan | sender, tag, begin | slice | payload
//                  \________/    \________________/      |
//                   channel            index          slot = slice mod 2*window
//
// A sender in slice s has finished slices up to s - window, which needed all ranks' contributions to them, so no rank
// is further behind than s - 2*window + 1: 2*window slots are enough for a collective in which every rank hears from
// every other. Where senders run ahead further (a reduction to one root), an overflow list takes the rest; it is
// searched, so it is slow, and has no bound.
#pragma once

#include "transport/transport.h"

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::transport {

inline std::uint32_t packed(sched::Tag tag) {
  return std::uint32_t{tag.level} << 24 | std::uint32_t{tag.phase} << 16 | std::uint32_t{tag.round};
}

/// What precedes every payload. All processes of a job have the same byte order and the same version.
struct WireHeader {
  static constexpr std::uint32_t current_version = 0x53545201;
  std::uint32_t version = current_version;
  std::uint32_t plan = 0;
  std::uint64_t context_key = 0; ///< the receiver's number of the context
  std::uint64_t slice = 0;
  std::int64_t begin = 0;
  std::uint32_t sender = 0; ///< rank in the context
  std::uint32_t tag = 0;    ///< packed()
};
static_assert(sizeof(WireHeader) == 40);

/// A received payload in the transport's memory, until the transport is told to let go of it.
struct Payload {
  const void* bytes = nullptr;
  std::size_t size = 0;
  void* handle = nullptr; ///< the transport's own
};

/// The incoming messages of one channel. One thread may look() while another, which holds the transport's lock, calls
/// put(); everything else needs that lock.
class ArrivalTable {
public:
  static constexpr std::size_t none = SIZE_MAX;

  ArrivalTable(std::span<const Incoming> incoming, std::uint32_t window);

  /// Index of an incoming message, or none.
  std::size_t find(std::int32_t peer, std::uint32_t tag, sched::Unit begin) const;
  std::size_t most_bytes(std::size_t index) const { return messages_[index].most_bytes; }

  /// Keeps a payload. False when that message of that slice has come before.
  bool put(std::size_t index, std::uint64_t slice, const Payload& payload);

  /// The payload, with null bytes while it has not come or when it is in the overflow list. No lock needed.
  Payload look(std::size_t index, std::uint64_t slice) const;
  bool overflowed() const { return overflow_count_.load(std::memory_order_acquire) != 0; }
  Payload look_overflow(std::size_t index, std::uint64_t slice) const;

  /// Removes a payload and returns it; null bytes if it is not there.
  Payload take(std::size_t index, std::uint64_t slice);
  /// Removes any payload; null bytes when none is left.
  Payload take_any();

private:
  struct Message {
    std::int32_t peer;
    std::uint32_t tag;
    sched::Unit begin;
    std::size_t most_bytes;
  };
  struct Slot {
    std::atomic<std::uint64_t> slice_plus_one{0}; ///< 0: empty
    Payload payload;
  };
  struct Overflow {
    std::size_t index;
    std::uint64_t slice;
    Payload payload;
  };

  static std::size_t hash(std::int32_t peer, std::uint32_t tag, sched::Unit begin);
  Slot& slot(std::size_t index, std::uint64_t slice) { return slots_[index * depth_ + slice % depth_]; }
  const Slot& slot(std::size_t index, std::uint64_t slice) const { return slots_[index * depth_ + slice % depth_]; }
  Payload drop_overflow(std::size_t position);

  std::size_t depth_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> buckets_; ///< open addressing; index + 1, 0: empty; a power of two, at most half full
  std::vector<Slot> slots_;
  std::vector<Overflow> overflow_;
  std::atomic<std::size_t> overflow_count_{0};
};

} // namespace strata::transport
