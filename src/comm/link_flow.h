// SPDX-License-Identifier: BSD-3-Clause
// One direction of a measurement between two ranks: some messages that are answered one by one, which give the latency,
// then a stream of them for a given time, of which the receiver takes the rate.
//
// Every message is answered, and few are under way, so that no buffer grows and the stream ends soon after its time.
// The last message is short again.
#pragma once

#include "transport/transport.h"
#include "tune/probe.h"

#include <chrono>
#include <memory>
#include <vector>

namespace strata::comm {

class LinkFlow {
public:
  enum class Side : std::uint8_t { sender, receiver };

  /// Takes what it needs and greets the peer. `plan` is a number that no plan of the context has, the same on both
  /// sides.
  static Result<LinkFlow> prepare(transport::Links& links, std::int32_t ranks, std::int32_t peer, Side side,
                                  std::uint32_t plan, std::size_t message_bytes);
  /// Whether the peer has been heard of; makes progress.
  bool connected() {
    (void)channel_->progress();
    return channel_->connected();
  }
  /// Both sides call it at about the same time; the stream lasts for `seconds`.
  void start(double seconds);
  /// Moves it on. True if anything happened.
  bool advance();
  /// Whether the last message was answered, and the answer has left.
  bool finished();
  const char* failure() const { return channel_->failure(); }

  /// On the sender's side: seconds of an empty message, one way; 0 before there was an answer.
  double latency() const;
  /// On the receiver's side: bytes per second, once the stream has become steady; 0 when too little came.
  double rate() const;

private:
  using Clock = std::chrono::steady_clock;

  LinkFlow() = default;
  bool advance_sender();
  bool advance_receiver();
  bool send_next(std::size_t bytes);
  void count_arrival(std::size_t bytes, double now);
  double since_start() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  Side side_ = Side::sender;
  std::unique_ptr<transport::Channel> channel_;
  std::size_t message_bytes_ = 0;
  double seconds_ = 0;
  Clock::time_point start_, asked_;
  std::uint64_t next_ = 0;   ///< message to send, or whose answer is to be sent
  std::uint64_t oldest_ = 0; ///< first message that is not answered
  bool last_sent_ = false, over_ = false, answered_last_ = false;
  std::vector<double> round_trips_;
  // What the receiver saw: seconds from the start to the arrivals that bound what counts, and the bytes after the
  // first.
  double first_ = 0, last_ = 0, bytes_ = 0;
};

} // namespace strata::comm
