// SPDX-License-Identifier: BSD-3-Clause
// How long messages of several sizes take between two ranks, one message at a time: half of the time there and back.
#pragma once

#include "comm/bootstrap.h"
#include "engine/wait.h"
#include "transport/transport.h"
#include "tune/message_times.h"

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

/// By a channel of strata's own. All ranks of the context take part in making one: prepare(), an exchange of the
/// announcements, connect().
class ChannelCourier final : public Courier {
public:
  /// `plan` is a number that no plan of the context has. Messages that take longer than `patience` seconds fail.
  static Result<std::unique_ptr<ChannelCourier>> prepare(transport::Links& links, std::int32_t peer, std::uint32_t plan,
                                                         double patience, engine::Waiter waiter);
  std::uint64_t announcement() const { return channel_->announcement(); }
  /// `announcements` by rank.
  Status connect(std::span<const std::uint64_t> announcements) { return channel_->connect(announcements); }
  /// Whether the peer was heard of within the patience.
  bool hear_of_peer();
  /// While the peer is not as far: it may need answers.
  void keep_connecting() {
    (void)channel_->progress();
    (void)channel_->connected();
  }

  bool send(const std::byte* payload, std::size_t bytes) override;
  bool receive(std::byte* payload, std::size_t bytes) override;
  /// Waits until nothing of it is under way, and lets the peer know; false: that will not be. When both sides have
  /// done it, it may be destroyed.
  bool finish();
  /// Instead, when something failed: what the peer may still read is left where it is.
  static void abandon(std::unique_ptr<ChannelCourier> courier);

private:
  ChannelCourier(std::unique_ptr<transport::Channel> channel, double patience, engine::Waiter waiter)
      : channel_(std::move(channel)), patience_(patience), waiter_(waiter) {}
  template <typename Condition>
  bool wait_until(const Condition& condition);
  bool end_turn();

  std::unique_ptr<transport::Channel> channel_;
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

/// The side that asks: medians of what messages there and back take, halved. Each size takes about `seconds_each`, but
/// at least `least` messages, and less where they hardly differ; after one that took much longer than that, no larger
/// size is tried. What failed, and what came after it, is 0. `payload` is of message_timing_bytes. Takes no memory: the
/// other side would wait for ever.
tune::SecondsBySize ask_messages(Courier& courier, std::byte* payload, double seconds_each, std::size_t least);
/// The side that answers, until the other is through. False: it failed.
bool answer_messages(Courier& courier, std::byte* payload);

} // namespace strata::comm
