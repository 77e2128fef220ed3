// SPDX-License-Identifier: BSD-3-Clause
// What a transport between nodes does below its message channels: it carries posts to peers, and hands over what comes.
//
// One carrier serves all contexts and threads of the process behind one lock. The channels register with it, so that
// an arriving message finds its own by (context key, plan). Ranks agree on a plan before its first message, so a
// message for a channel that is not there is rare (a rank may be between prepare() and its registration); a bounded
// number of them is kept aside and looked through when a channel is made.
#pragma once

#include "transport/message.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace strata::transport {

class MessageChannel;
struct SendRecord;

/// A peer process, as its carrier numbers them.
using PeerNumber = std::uint32_t;

/// One message to one peer, from start_send() until the carrier has done with its payload. It stays where it is.
struct Post {
  WireHeader header;
  PeerNumber peer = 0;
  const void* payload = nullptr;
  std::size_t bytes = 0;
  bool straight = false; ///< the payload is in memory that least_straight() was asked about
  SendRecord* record = nullptr;
  bool under_way = false; ///< the carrier reads its payload
};

class Carrier {
public:
  enum class Posted {
    done,      ///< the payload may be overwritten
    under_way, ///< completed() will be called
    no_room,   ///< nothing was done; again after advance()
    failed,    ///< the peer cannot be reached any more
  };

  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  virtual ~Carrier();

  /// Guards everything below.
  std::mutex lock;

  /// What a peer is needed for.
  enum class Use { hear, send };

  /// The peer with this address; starts to connect to it when it is to be sent to for the first time.
  virtual Result<PeerNumber> peer(const std::string& address, Use use) = 0;
  /// Why nothing can be sent to a peer or expected of it, or null.
  virtual const char* peer_failure(PeerNumber peer) const = 0;

  /// Says hello to a peer that is to be sent to; whether that has gone; whether a peer has said hello to us.
  virtual void greet(PeerNumber peer) = 0;
  virtual bool greeting_sent(PeerNumber peer) const = 0;
  virtual bool has_greeted(PeerNumber peer) const = 0;
  /// Gives up a peer to which the greeting did not get through.
  virtual void abandon(PeerNumber peer) = 0;
  /// Remembers a peer that was waited for in vain, until it greets: nothing more is set up that is to hear of it.
  void note_silent(PeerNumber peer) { silent_.insert(peer); }
  bool is_silent(PeerNumber peer) const { return silent_.count(peer) != 0 && !has_greeted(peer); }

  /// Payloads of at least so many bytes may be in memory of this kind; SIZE_MAX: none.
  virtual std::size_t least_straight(MemoryKind /*kind*/) const { return SIZE_MAX; }

  /// Posts a message, of which `sequence()` is the number afterwards.
  virtual Posted post(Post& message) = 0;
  /// Frees or reuses the memory of a payload.
  virtual void let_go(const Payload& payload) = 0;
  /// Moves messages on: calls deliver() and completed().
  virtual void advance() = 0;
  /// Tries to push out what was posted up to now; raises gone() as far as it has left this process.
  virtual void flush() = 0;

  /// What the carrier wrote, counted; and up to which of these nothing is left in this process. Read without the lock.
  std::uint64_t sequence() const { return sequence_.load(std::memory_order_relaxed); }
  std::uint64_t gone() const { return gone_.load(std::memory_order_acquire); }

  /// A call of some channel begins; it ends when end_call() is true, or with give_up_call(). Without the lock.
  void begin_call() { calls_.fetch_add(1, std::memory_order_relaxed); }
  /// Whether a thread may go from a call that wrote up to `written`: that has left this process, or another thread's
  /// call goes on, which moves it on and then waits for it too. A thread that waited for all that is under way might
  /// wait for the messages of another communicator, whose receivers wait for what this thread does next. `begun`: the
  /// call was counted by begin_call().
  bool end_call(std::uint64_t written, bool begun);
  void give_up_call() { calls_.fetch_sub(1, std::memory_order_relaxed); }

  void enter(MessageChannel& channel);
  void leave(MessageChannel& channel);
  /// Keeps the records of posts under way beyond the life of their channel.
  void adopt(std::unique_ptr<SendRecord[]> records, std::unique_ptr<Post[]> posts);

protected:
  enum class Expected { by_channel, by_nobody_yet, refused };

  /// Whether a message of this size may come. A refused one marks its channel as failed.
  Expected expected(const WireHeader& header, std::size_t bytes);
  /// Hands over a received message. False: it was refused and is still the caller's.
  bool deliver(const WireHeader& header, const Payload& payload);
  /// A message of this header, which was expected, could not be received.
  void lost(const WireHeader& header, const char* why);
  /// The place that its channel has offered for a message that comes, now the carrier's until it calls fetched(); null:
  /// none.
  void* claim(const WireHeader& header);
  /// The carrier does not write to a place that it has claimed any more.
  void fetched(const WireHeader& header);
  /// Counts something that is written on behalf of a received message's channel, such as the answer of a handshake.
  void note_answer(const WireHeader& header);
  /// A post that was under way is finished; `failure` is null or says why it did not get through.
  static void completed(Post& message, const char* failure);
  /// Tells all channels that use this peer.
  void report_failure(PeerNumber peer);
  /// Tells all channels.
  void report_failure(const char* why);
  /// Lets go of what was kept for channels that never came: before the transport's memory goes.
  void drop_parked();

  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<std::uint64_t> gone_{0};

private:
  static constexpr std::size_t most_parked_messages = 1024;
  static constexpr std::size_t most_parked_bytes = std::size_t{32} << 20;

  struct Parked {
    WireHeader header;
    Payload payload;
  };
  using Route = std::pair<std::uint64_t, std::uint32_t>; ///< context key, plan

  bool park(const WireHeader& header, const Payload& payload);
  MessageChannel* channel_of(const WireHeader& header) const;

  std::atomic<std::uint32_t> calls_{0};
  std::uint64_t owed_ = 0; ///< what threads wrote that went before it had left
  std::map<Route, MessageChannel*> channels_;
  std::set<PeerNumber> silent_;
  std::deque<Parked> parked_;
  std::size_t parked_bytes_ = 0;
  std::vector<std::unique_ptr<SendRecord[]>> orphaned_records_;
  std::vector<std::unique_ptr<Post[]>> orphaned_posts_;
};

} // namespace strata::transport
