// SPDX-License-Identifier: BSD-3-Clause
// How long messages of several sizes take between two ranks, one message at a time: half of the time there and back.
#pragma once

#include "comm/bootstrap.h"
#include "engine/wait.h"
#include "transport/transport.h"
#include "tune/message_times.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace strata::comm {

/// Carries one message at a time between this rank and a peer, by some library. Both functions return when their part
/// is done; false: it failed, and nothing more is to be tried.
class Courier {
public:
  virtual ~Courier() = default;
  virtual bool send(const std::byte* payload, std::size_t bytes) = 0;
  virtual bool receive(std::byte* payload, std::size_t bytes) = 0;
  /// By the clock that messages are timed with.
  virtual double seconds() const;
};

/// Bytes of what is passed around a ring.
inline constexpr std::size_t passed_bytes = sizeof(std::uint64_t);

/// Whom a rank sends to, and from whom it receives, messages of so many bytes at most. `ahead`: about how many more of
/// them one may have sent than the other has taken; 2 where each answers the other's.
struct CourierWay {
  std::vector<std::int32_t> to, from;
  std::size_t most_bytes = 0;
  std::uint32_t ahead = 2;
};

/// By a channel of strata's own. All ranks of the context take part in making one: prepare(), an exchange of the
/// announcements, connect().
class ChannelCourier final : public Courier {
public:
  /// `plan` is a number that no plan of the context has. Messages that take longer than `patience` seconds fail.
  static Result<std::unique_ptr<ChannelCourier>> prepare(transport::Links& links, const CourierWay& way,
                                                         std::uint32_t plan, double patience, engine::Waiter waiter);
  std::uint64_t announcement() const { return channel_->announcement(); }
  /// `announcements` by rank.
  Status connect(std::span<const std::uint64_t> announcements) {
    const Status connected = channel_->connect(announcements);
    if (connected) channel_->make_ready(1);
    return connected;
  }
  /// Whether its peers were heard of within the patience.
  bool hear_of_peer();
  /// While the peer is not as far: it may need answers.
  void keep_connecting() {
    (void)channel_->progress();
    (void)channel_->connected();
  }

  /// To all that it sends to. A payload of more than passed_bytes stays as it is until their answers have come.
  bool send(const std::byte* payload, std::size_t bytes) override;
  /// From those that it receives from in turn, each before the next message of the first.
  bool receive(std::byte* payload, std::size_t bytes) override;
  /// Waits until nothing of it is under way, and lets the peer know; false: that will not be. When both sides have
  /// done it, it may be destroyed.
  bool finish();
  /// Instead, when something failed: what the peer may still read is left where it is.
  static void abandon(std::unique_ptr<ChannelCourier> courier);

private:
  ChannelCourier(std::unique_ptr<transport::Channel> channel, std::size_t sources, double patience,
                 engine::Waiter waiter)
      : channel_(std::move(channel)), sources_(sources), patience_(patience), waiter_(waiter) {}
  template <typename Condition>
  bool wait_until(const Condition& condition);
  bool end_turn();

  std::unique_ptr<transport::Channel> channel_;
  std::size_t sources_;
  std::size_t next_source_ = 0;
  std::array<std::byte, passed_bytes> kept_{}; ///< what is sent, as long as that lasts
  double patience_;
  engine::Waiter waiter_;
  std::uint64_t sent_ = 0, received_ = 0, finished_ = 0; ///< messages, each in a slice of its own
};

/// By the point-to-point of the library that the bootstrap is over.
class NativeCourier final : public Courier {
public:
  /// `key`: of the side that asks, a number that no other communicator of its process has. What it sends has an even
  /// tag, and what comes back an odd one: two processes may ask each other on two communicators at the same time.
  NativeCourier(Bootstrap& bootstrap, std::int32_t peer, std::uint64_t key, bool asks)
      : bootstrap_(bootstrap), peer_(peer), tag_(2 * static_cast<int>(key % ((Bootstrap::most_native_tag + 1) / 2))),
        asks_(asks) {}
  bool send(const std::byte* payload, std::size_t bytes) override {
    return bootstrap_.native_send(peer_, tag_ + (asks_ ? 0 : 1), payload, bytes);
  }
  bool receive(std::byte* payload, std::size_t bytes) override {
    return bootstrap_.native_receive(peer_, tag_ + (asks_ ? 1 : 0), payload, bytes);
  }

private:
  Bootstrap& bootstrap_;
  std::int32_t peer_;
  int tag_;
  bool asks_;
};

/// Bytes that both sides need for it.
inline constexpr std::size_t message_timing_bytes = tune::message_sizes.back();

/// The side that asks: medians of what messages there and back take, halved. The first ones of a size do not count.
/// Each size takes about `seconds_each`, but at least `least` messages that count, and less where they hardly differ;
/// after one that took much longer than that, no larger size is tried. What failed, and what came after it, is 0.
/// `payload` is of message_timing_bytes. Takes no memory: the other side would wait for ever.
tune::SecondsBySize ask_messages(Courier& courier, std::byte* payload, double seconds_each, std::size_t least);
/// The side that answers, until the other is through. False: it failed.
bool answer_messages(Courier& courier, std::byte* payload);

/// What a rank does in a ring of so many.
struct RingPart {
  std::int32_t size;
  std::size_t sources; ///< from which a message comes in each round
  bool decides;        ///< when it is enough; one rank of the ring
};

/// Every rank of a ring sends a short message and takes those that come, round after round, for about `seconds`. What a
/// round took: the median over parts of that time, so that a pause of one process does not count. 0: it failed. Takes
/// no memory.
double pass_around(Courier& courier, double seconds, const RingPart& part);

} // namespace strata::comm
