// SPDX-License-Identifier: BSD-3-Clause
// What the engine asks of a transport. A folder each implements it: shm, ucx, mpi, loop.
//
//   Transport   one per process: the segment, the worker; knows its own address
//   Links       one per context and transport: which ranks can be reached, by what
//   Channel     one per plan, context and transport: the messages of the plan's schedule, slice after slice
//
// Messages of a channel are known when it is made: each has an index on the sender's and on the receiver's side, and
// is sent once per slice (or, when it would be empty, not at all: both sides know). Slices of a channel are numbered
// from 0 over the whole life of the plan, in 64 bits. At most `window` consecutive slices are in progress on a rank.
//
// Not thread-safe: one thread at a time per context. A transport that serves several contexts locks by itself.
#pragma once

#include "base/memory_kind.h"
#include "base/result.h"
#include "sched/schedule.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace strata::transport {

/// A message this rank sends once per slice, to all of `peers`.
struct Outgoing {
  sched::Tag tag;
  sched::Unit begin = 0; ///< of its range: part of the message's identity
  std::vector<std::int32_t> peers;
  std::size_t most_bytes = 0;
};

/// A message this rank takes once per slice.
struct Incoming {
  sched::Tag tag;
  sched::Unit begin = 0;
  std::int32_t peer = -1;
  std::size_t most_bytes = 0;
};

/// Everything a channel must make room for.
struct ChannelShape {
  std::uint32_t plan = 0; ///< the plan's number in its context, the same on all ranks
  std::uint32_t window = 1;
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
};

/// Counts for statistics and tests.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0; ///< payload sent; one copy for several receivers counts once
};

class Channel {
public:
  virtual ~Channel() = default;

  /// What the peers must know of this channel; all ranks' announcements come back in connect().
  virtual std::uint64_t announcement() const { return 0; }

  /// Second step of the set-up: after all ranks have prepared theirs.
  virtual Status connect(std::span<const std::uint64_t> announcements) = 0;

  /// Whether all peers of this channel have been heard of since connect(). Call progress() between the calls until it
  /// is true, failure() is not null or patience ends. Before that, a flush may wait for a peer that is elsewhere.
  virtual bool connected() { return true; }
  /// Patience has ended: who was not heard of is remembered, so that later channels to them are refused at once.
  virtual void give_up_connecting() {}

  /// Slices are coming that fill at most this share, up to 1, of what the channel was made for. For speed alone: their
  /// first bytes need not wait for the kernel to map memory. After connect(); again for a larger share.
  virtual void make_ready(double /*share*/) {}

  /// Whether payloads are written straight to where the receivers read them (shared memory): then room() and publish()
  /// take the place of start_send() and sent(), and the caller writes the payload as suits it.
  virtual bool shares_memory() const { return false; }
  /// Where the payload of outgoing message `index` of `slice` is to be written; null: no room now, try again.
  virtual void* room(std::size_t /*index*/, std::uint64_t /*slice*/) { return nullptr; }
  /// Makes a written payload visible to its receivers.
  virtual void publish(std::size_t /*index*/, std::uint64_t /*slice*/, std::size_t /*bytes*/) {}

  /// Payloads of a channel that shares memory may also be put aside: into memory of this size, laid out as the
  /// channel's own, which the sender and some of its receivers reach and the channel never touches (a device's). 0: not
  /// with this channel.
  virtual std::size_t aside_bytes() const { return 0; }
  /// Of these the last, for the flags that this rank waits for.
  virtual std::size_t flag_bytes() const { return 0; }
  static constexpr std::size_t nowhere = SIZE_MAX;
  /// As room(), for a payload that is to be put aside: its offset in that memory, or nowhere.
  virtual std::size_t room_aside(std::size_t /*index*/, std::uint64_t /*slice*/) { return nowhere; }
  /// As publish(), when the payload is there. All receivers of the message must reach it.
  virtual void publish_aside(std::size_t /*index*/, std::uint64_t /*slice*/, std::size_t /*bytes*/) {}
  /// A payload may also be promised before it is there. Each reader of a message has a flag in its own such memory, a
  /// word of 32 bits that is 0 at first and becomes flag_value(slice) when the payload is there; it waits for that.
  /// Of outgoing message `index`, the offset of the flags of `reader` in the memory of that rank: for as many slices in
  /// turn as the window has, one behind the other. Nowhere: it has not connected.
  virtual std::size_t flags_aside(std::size_t /*index*/, std::int32_t /*reader*/) { return nowhere; }
  /// Of incoming message `index`, the offset of this rank's flags in its own memory.
  virtual std::size_t own_flags_aside(std::size_t /*index*/) { return nowhere; }
  static std::uint32_t flag_value(std::uint64_t slice) { return static_cast<std::uint32_t>(slice + 1); }
  /// As publish_aside(), of a payload whose flags will be set.
  virtual void promise_aside(std::size_t /*index*/, std::uint64_t /*slice*/, std::size_t /*bytes*/) {}
  /// Of a message that arrived_aside() knows: whether it is promised. Then its payload is there when this rank's flag
  /// says so.
  virtual bool is_promised_aside(std::size_t /*index*/, std::uint64_t /*slice*/) { return false; }
  /// As arrived(), of a message whose payload was put aside or is promised: its offset in the sender's memory. Nowhere
  /// while it has not come, or when it came in the usual way.
  virtual std::size_t arrived_aside(std::size_t /*index*/, std::uint64_t /*slice*/) { return nowhere; }

  /// A call is going to use this channel, until flushed() is true or it is given up.
  virtual void begin_call() {}

  /// Starts outgoing message `index` of `slice`. False: no room now, try again after progress(). `bytes` > 0.
  /// `payload` must stay unchanged until sent() is true.
  virtual bool start_send(std::size_t index, std::uint64_t slice, const void* payload, std::size_t bytes) = 0;

  /// Messages of at least so many bytes may be sent straight from memory of this kind, and received straight into it:
  /// with start_straight() and offer(). SIZE_MAX: none.
  virtual std::size_t least_straight(MemoryKind /*kind*/) const { return SIZE_MAX; }
  /// As start_send(), of a payload in such memory.
  virtual bool start_straight(std::size_t index, std::uint64_t slice, const void* payload, std::size_t bytes) {
    return start_send(index, slice, payload, bytes);
  }
  /// Takes memory for what offer() says. Without it, offers are not heard.
  virtual void prepare_offers() {}
  /// Where the payload of incoming message `index` of `slice` may be put, in such memory: with room for most_bytes. A
  /// payload that comes another way, or came before, is where arrived() says, as ever. The place is the channel's until
  /// the message has been released or, when the call is given up, until quiescent() is true.
  virtual void offer(std::size_t /*index*/, std::uint64_t /*slice*/, void* /*place*/) {}

  /// Whether the payload of a started send may be overwritten.
  virtual bool sent(std::size_t index, std::uint64_t slice) = 0;

  /// Where incoming message `index` of `slice` is, or null while it has not come: the place that was offered for it, or
  /// memory of the host. The bytes stay until release().
  virtual const void* arrived(std::size_t index, std::uint64_t slice) = 0;
  virtual void release(std::size_t index, std::uint64_t slice) = 0;

  /// Bytes of a message that arrived() returned, at most its most_bytes; 0: not known here. Less than expected means
  /// that the peer passed other arguments: reading on would overrun.
  virtual std::size_t arrived_bytes(std::size_t index, std::uint64_t slice) {
    static_cast<void>(index);
    static_cast<void>(slice);
    return 0;
  }

  /// A message that arrived() returned is shorter than the `bytes` that it should have: this channel has failed.
  virtual void refuse(std::size_t index, std::uint64_t slice, std::size_t bytes) {
    static_cast<void>(index);
    static_cast<void>(slice);
    static_cast<void>(bytes);
  }

  /// This rank has released all messages of all slices up to and including `slice`.
  virtual void finished(std::uint64_t slice) = 0;

  /// Moves messages on. True if anything happened that may let a step run.
  virtual bool progress() { return false; }

  /// Whether everything that was sent has left this process (design: local completion is not delivery), or another
  /// thread's call sees to that. Call progress() between the calls until it is true.
  virtual bool flushed() { return true; }
  /// The call is given up: its payloads are not read any more when this returns, if need be because the connections to
  /// peers that did not take them are dropped. Takes a few seconds at most.
  virtual void give_up_call() {}

  /// Whether some rank that shares this memory has given up a call of this plan; then failure() says so from now on.
  /// What was promised after that may be anything.
  virtual bool is_given_up() { return false; }

  /// This rank will not use the channel any more; it may be destroyed once quiescent() is true: then no peer reads its
  /// memory any more, and nothing is put into places that it has offered. Sends nothing that needs an answer.
  virtual void depart() {}
  virtual bool quiescent() { return true; }

  /// Why this channel will not get any further (a peer is gone, or sent what does not fit), or null. Valid as long as
  /// the channel.
  virtual const char* failure() const { return nullptr; }

  const Traffic& traffic() const { return traffic_; }

protected:
  Traffic traffic_;
};

class Links {
public:
  virtual ~Links() = default;

  /// Whether this transport can carry messages between this rank and `rank`. Symmetric.
  virtual bool reaches(std::int32_t rank) const = 0;

  /// First step of a channel's set-up: takes all memory it needs, sends nothing.
  virtual Result<std::unique_ptr<Channel>> prepare(const ChannelShape& shape) = 0;
};

/// A rank of a context as its peers see it.
struct PeerAddress {
  std::uint64_t context_key = 0; ///< the peer's own number of this context (unique in its process)
  std::string address;           ///< what the peer's Transport::address() said
};

class Transport {
public:
  virtual ~Transport() = default;
  virtual const char* name() const = 0;

  /// Opaque bytes by which other processes reach this one through this transport.
  virtual const std::string& address() const = 0;

  /// Links of a context whose ranks have these addresses (empty: that rank has no such transport). `self` is this
  /// rank. Connects lazily. `members` says which ranks these links will be asked to reach.
  virtual Result<std::unique_ptr<Links>> link(std::span<const PeerAddress> ranks, std::int32_t self,
                                              const std::vector<bool>& members) = 0;

  /// Bytes at and above which this transport changes to a slower or handshaking protocol; 0: never.
  virtual std::size_t eager_limit() const { return 0; }

  /// Whose memory the library under it could send from and receive into by itself, for people: "host, cuda". Empty:
  /// there is no such library.
  virtual std::string memory_kinds() const { return {}; }

  /// What was settled about network cards when it started, for the log: "sends through eth0, …", "lets …". Empty:
  /// nothing was asked for.
  virtual std::string network_note() const { return {}; }

  /// The most bytes that it has held at a time of messages that had come and were not taken yet, and of buffers for
  /// messages; what the library under it holds by itself does not count. Any thread.
  virtual std::size_t most_message_bytes() const { return 0; }
};

/// What a transport needs of the process.
struct Surroundings {
  const char* module_path = nullptr;
};

} // namespace strata::transport
