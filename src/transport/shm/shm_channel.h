// SPDX-License-Identifier: BSD-3-Clause
// A channel's block of shared memory, in its sender's segment:
//
//     BlockHeader | DirectoryEntry per message and receiver | a word for each of these | slots
//
// A message has `window` slots, slice s in slot s mod window: a 64-bit sequence number (s + 1 once the payload is
// there, with the topmost bit set when it was put aside, and the next when that is only promised) and the payload. What
// is put aside begins where its slot does; behind the block, in that other memory, are the flags that this rank waits
// for, one for each incoming message and slot. Where these begin for a message, its receiver tells the sender in the
// word of its entry: a device waits for words in its own memory, and its peers set them.
// Receivers find a message in the directory by its identity and their own rank, so no rank needs to know the
// others' programs. A receiver that has finished a slice says so once, in its own block (`finished`); a sender reuses
// a slot when all receivers of that message have finished the slice that was in it.
#pragma once

#include "transport/shm/shm_transport.h"

#include <atomic>

namespace strata::transport::shm {

struct DirectoryEntry {
  std::uint64_t begin;
  std::uint64_t offset; ///< of slot 0, from the begin of the block
  std::uint64_t stride;
  std::uint32_t tag;
  std::uint32_t payload; ///< offset of the payload in a slot
  std::int32_t receiver; ///< one of the message's: tag and begin of messages to others may be the same
};

/// Of an entry: where its receiver has the flags of this message in its memory aside; 0: it has not said so yet.
using FlagPlace = std::atomic<std::uint64_t>;

struct BlockHeader {
  std::uint32_t plan;
  std::uint32_t window;
  std::uint64_t entries;
  std::uint64_t bytes;                                     ///< of the whole block
  std::uint64_t aside_bytes;                               ///< with the flags behind it, in the memory aside
  alignas(line_bytes) std::atomic<std::uint64_t> finished; ///< slices that the owner of the block has finished reading
  alignas(line_bytes) std::atomic<std::uint32_t> departed; ///< ranks that have closed their side of this block
  std::atomic<std::uint32_t> given_up;                     ///< 1: its owner has given up a call of this plan
};

class ShmChannel final : public Channel {
public:
  static Result<std::unique_ptr<Channel>> prepare(std::shared_ptr<const Neighbours> neighbours,
                                                  const ChannelShape& shape);
  ~ShmChannel() override;

  std::uint64_t announcement() const override { return block_offset_; }
  Status connect(std::span<const std::uint64_t> announcements) override;
  void make_ready(double share) override;
  bool start_send(std::size_t index, std::uint64_t slice, const void* payload, std::size_t bytes) override;
  bool sent(std::size_t, std::uint64_t) override { return true; }
  const void* arrived(std::size_t index, std::uint64_t slice) override;
  void release(std::size_t, std::uint64_t) override {}
  void finished(std::uint64_t slice) override;
  void depart() override;
  bool quiescent() override;
  void give_up_call() override;
  bool is_given_up() override;
  const char* failure() const override { return failure_; }

  bool shares_memory() const override { return true; }
  void* room(std::size_t index, std::uint64_t slice) override;
  void publish(std::size_t index, std::uint64_t slice, std::size_t bytes) override;
  std::size_t aside_bytes() const override { return block_bytes_ + flag_bytes_; }
  std::size_t flag_bytes() const override { return flag_bytes_; }
  std::size_t room_aside(std::size_t index, std::uint64_t slice) override;
  void publish_aside(std::size_t index, std::uint64_t slice, std::size_t bytes) override;
  std::size_t arrived_aside(std::size_t index, std::uint64_t slice) override;
  std::size_t flags_aside(std::size_t index, std::int32_t reader) override;
  std::size_t own_flags_aside(std::size_t index) override;
  void promise_aside(std::size_t index, std::uint64_t slice, std::size_t bytes) override;
  bool is_promised_aside(std::size_t index, std::uint64_t slice) override;

private:
  /// A rank of the node that has a channel of this plan. Those come first that it exchanges messages with.
  struct Peer {
    BlockHeader* block = nullptr;
    std::uint64_t block_bytes = 0; ///< that were found to be in its segment
    std::uint64_t aside_bytes = 0; ///< as it says
    std::uint64_t seen_finished = 0;
  };
  struct Sender {
    std::byte* slots = nullptr;
    std::size_t offset = 0; ///< of the slots in the block
    std::size_t stride = 0;
    std::size_t payload = 0;
    std::vector<std::uint32_t> readers; ///< indices into peers_
    std::size_t first_entry = 0;        ///< of as many, in the directory
  };
  struct Receiver {
    const std::byte* slots = nullptr;
    std::size_t stride = 0;
    std::size_t payload = 0;
    std::size_t offset = 0; ///< of the slots in the sender's block
  };

  ShmChannel(std::shared_ptr<const Neighbours> neighbours, const ChannelShape& shape)
      : neighbours_(std::move(neighbours)), shape_(shape) {}
  std::size_t peer_index(std::int32_t rank);
  void mark_published(std::size_t index, std::uint64_t slice, std::uint64_t number, std::size_t bytes);
  BlockHeader& own() { return *reinterpret_cast<BlockHeader*>(neighbours_->own->view().at(block_offset_)); }
  Status find_message(std::size_t index, std::uint64_t announced);

  std::shared_ptr<const Neighbours> neighbours_;
  ChannelShape shape_;
  std::uint64_t block_offset_ = 0;
  std::size_t block_bytes_ = 0;
  std::size_t flag_bytes_ = 0;
  bool connected_ = false;
  double ready_share_ = 0;
  std::vector<Peer> peers_;
  std::vector<std::int32_t> peer_ranks_;
  const char* failure_ = nullptr;
  std::vector<Sender> senders_;
  std::vector<Receiver> receivers_;
};

/// A tag as one number.
std::uint32_t packed(sched::Tag tag);

} // namespace strata::transport::shm
