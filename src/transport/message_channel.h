// SPDX-License-Identifier: BSD-3-Clause
// Links and channels over a Carrier: the part of ucx and mpi that is the same.
#pragma once

#include "transport/carrier.h"

namespace strata::transport {

/// One slice's send of an outgoing message: the posts to its peers.
struct SendRecord {
  std::atomic<std::uint32_t> unfinished{0}; ///< posts whose payload is still in use
  std::uint32_t posted = 0;                 ///< peers served so far
  std::uint64_t slice_plus_one = 0;         ///< 0: never used
  MessageChannel* channel = nullptr;        ///< null: the channel is gone
};

/// A rank that a channel sends to or hears from.
struct Party {
  PeerNumber peer; ///< the carrier's number of it
  std::int32_t rank;
  std::uint64_t context_key; ///< its number of the context
  bool sent_to = false;
  bool heard_from = false;
};

class MessageChannel final : public Channel {
public:
  /// What a channel is of: this rank's number of the context, and its rank in it.
  struct Identity {
    std::uint64_t context_key;
    std::int32_t self;
  };

  /// `destinations` lists the peers of all outgoing messages, one after the other; `sources` those of the incoming.
  MessageChannel(Carrier& carrier, Identity identity, const ChannelShape& shape, std::span<const Party> destinations,
                 std::vector<Party> sources);
  ~MessageChannel() override;

  Status connect(std::span<const std::uint64_t> announcements) override;
  bool connected() override;
  void give_up_connecting() override;
  void begin_call() override;
  bool start_send(std::size_t index, std::uint64_t slice, const void* payload, std::size_t bytes) override {
    return post(index, slice, payload, bytes, false);
  }
  std::size_t least_straight(MemoryKind kind) const override { return carrier_.least_straight(kind); }
  bool start_straight(std::size_t index, std::uint64_t slice, const void* payload, std::size_t bytes) override {
    return post(index, slice, payload, bytes, true);
  }
  void prepare_offers() override;
  void offer(std::size_t index, std::uint64_t slice, void* place) override;
  bool sent(std::size_t index, std::uint64_t slice) override;
  const void* arrived(std::size_t index, std::uint64_t slice) override;
  std::size_t arrived_bytes(std::size_t index, std::uint64_t slice) override;
  void refuse(std::size_t index, std::uint64_t slice, std::size_t bytes) override;
  void release(std::size_t index, std::uint64_t slice) override;
  void finished(std::uint64_t slice) override;
  bool progress() override;
  bool flushed() override;
  void give_up_call() override;
  bool quiescent() override;
  const char* failure() const override;

  std::uint64_t context_key() const { return identity_.context_key; }
  std::uint32_t plan() const { return plan_; }

  // For the carrier, which holds its lock.
  /// Index of the incoming message, or none (and the channel has failed) when there is none or it has another size.
  std::size_t expect(const WireHeader& header, std::size_t bytes);
  /// The place that was offered for a message, which nobody else gets.
  void* claim(const WireHeader& header);
  void note_fetched() { fetches_.fetch_sub(1, std::memory_order_release); }
  /// False: it was refused.
  bool deliver(const WireHeader& header, const Payload& payload);
  void note_post_finished() { news_.store(true, std::memory_order_release); }
  void note_written(std::uint64_t sequence) { last_written_.store(sequence, std::memory_order_relaxed); }
  void note_peer_failure(PeerNumber peer, const char* why) noexcept;
  void fail(const std::string& why) noexcept;

private:
  struct Message {
    std::size_t first_post; ///< of slot 0 in posts_
    std::uint32_t peers;
  };

  Post* posts_of(std::size_t index, std::uint64_t slice) {
    return &posts_[messages_[index].first_post + slice % window_ * messages_[index].peers];
  }
  SendRecord& record_of(std::size_t index, std::uint64_t slice) { return records_[index * window_ + slice % window_]; }
  struct Offer {
    void* place = nullptr; ///< null: there is none
    std::uint64_t slice = 0;
  };
  bool post(std::size_t index, std::uint64_t slice, const void* payload, std::size_t bytes, bool straight);
  bool posts_are_done() const;
  Offer& offer_of(std::size_t index, std::uint64_t slice) { return offers_[index * window_ + slice % window_]; }
  Payload look(std::size_t index, std::uint64_t slice);
  void withdraw_offers();
  void forget_unposted();
  void drop_connections_of_unfinished();

  Carrier& carrier_;
  Identity identity_;
  std::uint32_t plan_;
  std::size_t window_;
  std::vector<Message> messages_;
  std::size_t record_count_ = 0;
  std::unique_ptr<SendRecord[]> records_;
  std::size_t post_count_ = 0;
  std::unique_ptr<Post[]> posts_;
  std::vector<Party> parties_; ///< all that it hears from or sends to, by rank
  ArrivalTable arrivals_;
  std::size_t incoming_;
  std::vector<Offer> offers_;                ///< by message and slot; empty where none are made
  std::atomic<std::uint32_t> fetches_{0};    ///< that the carrier puts into places that were offered
  std::atomic<std::uint64_t> done_below_{0}; ///< slices below it are finished: nothing may come for them
  std::atomic<std::uint64_t> last_written_{0};
  bool in_call_ = false;
  bool greeting_ = false;
  bool connected_ = false;
  std::atomic<bool> news_{false};
  std::atomic<bool> failed_{false};
  std::string failure_; ///< written once, before failed_
};

class MessageLinks final : public Links {
public:
  MessageLinks(Carrier& carrier, std::span<const PeerAddress> ranks, std::int32_t self,
               const std::vector<bool>& members);
  bool reaches(std::int32_t rank) const override;
  Result<std::unique_ptr<Channel>> prepare(const ChannelShape& shape) override;

private:
  struct Rank {
    std::string address; ///< empty: not reached
    std::uint64_t context_key;
  };
  Result<Party> party(std::int32_t rank, Carrier::Use use);

  Carrier& carrier_;
  std::int32_t self_;
  std::vector<Rank> ranks_;
};

} // namespace strata::transport
