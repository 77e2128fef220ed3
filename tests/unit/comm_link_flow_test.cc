// SPDX-License-Identifier: BSD-3-Clause
#include "comm/link_flow.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace strata::comm {
namespace {

/// What two ranks have sent to each other: bytes of each message, by sender. Answered messages are not forgotten.
struct Wire {
  std::vector<std::size_t> sent[2];
  std::size_t late_from = SIZE_MAX; ///< this message of either sender, and what follows it, has not come
};

class WireChannel final : public transport::Channel {
public:
  WireChannel(Wire& wire, std::size_t self) : wire_(wire), self_(self) {}
  Status connect(std::span<const std::uint64_t> /*announcements*/) override { return ok(); }
  bool start_send(std::size_t, std::uint64_t, const void*, std::size_t bytes) override {
    wire_.sent[self_].push_back(bytes);
    return true;
  }
  bool sent(std::size_t, std::uint64_t) override { return true; }
  const void* arrived(std::size_t, std::uint64_t slice) override {
    return slice < std::min(wire_.sent[1 - self_].size(), wire_.late_from) ? &wire_ : nullptr;
  }
  std::size_t arrived_bytes(std::size_t, std::uint64_t slice) override { return wire_.sent[1 - self_][slice]; }
  void release(std::size_t, std::uint64_t) override {}
  void finished(std::uint64_t) override {}

private:
  Wire& wire_;
  std::size_t self_;
};

class WireLinks final : public transport::Links {
public:
  WireLinks(Wire& wire, std::size_t self) : wire_(wire), self_(self) {}
  bool reaches(std::int32_t) const override { return true; }
  Result<std::unique_ptr<transport::Channel>> prepare(const transport::ChannelShape&) override {
    return std::unique_ptr<transport::Channel>(std::make_unique<WireChannel>(wire_, self_));
  }

private:
  Wire& wire_;
  std::size_t self_;
};

/// A stream from rank 0 to rank 1, moved by one thread.
class LinkFlowTest : public testing::Test {
protected:
  static constexpr std::size_t message = 4096;

  void start(double seconds) {
    WireLinks first(wire_, 0), second(wire_, 1);
    sender_.emplace(std::move(*LinkFlow::prepare(first, 2, 1, LinkFlow::Side::sender, 1, message)));
    receiver_.emplace(std::move(*LinkFlow::prepare(second, 2, 0, LinkFlow::Side::receiver, 1, message)));
    begin_ = std::chrono::steady_clock::now();
    sender_->start(seconds);
    receiver_->start(seconds);
  }
  double spent() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  void move_until(double seconds) {
    while (spent() < seconds) {
      sender_->advance();
      receiver_->advance();
    }
  }
  /// The receiver is late: its messages are under way.
  void hold_until(double seconds) {
    while (spent() < seconds) {
      sender_->advance();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void finish() {
    while (!sender_->finished() || !receiver_->finished()) {
      sender_->advance();
      receiver_->advance();
    }
  }
  /// Of what the sender's messages carried so far.
  double bytes() const {
    std::size_t sum = 0;
    for (const std::size_t each : wire_.sent[0])
      sum += each;
    return static_cast<double>(sum);
  }

  Wire wire_;
  std::optional<LinkFlow> sender_, receiver_;
  std::chrono::steady_clock::time_point begin_;
};

TEST_F(LinkFlowTest, GivesALatencyToTheSenderAndARateToTheReceiver) {
  start(0.2);
  move_until(0.2);
  finish();
  EXPECT_GT(sender_->latency(), 0);
  EXPECT_GT(receiver_->rate(), 0);
  EXPECT_EQ(sender_->rate(), 0);
  EXPECT_EQ(receiver_->latency(), 0);
}

// Otherwise receivers that share an uplink, and wait for each other's packets, would together receive more than it
// carries.
TEST_F(LinkFlowTest, CountsTheTimeInWhichNothingCame) {
  const double seconds = 0.3, steady = 0.06; // a fifth
  start(seconds);
  move_until(steady + 0.02);
  hold_until(seconds + 0.001);
  const double most = bytes() / (seconds - steady);
  finish();
  EXPECT_GT(receiver_->rate(), 0);
  EXPECT_LE(receiver_->rate(), most);
}

TEST_F(LinkFlowTest, DoesNotCountWhatComesAfterItsTime) {
  start(0.2);
  move_until(0.15);
  hold_until(0.201);
  wire_.late_from = wire_.sent[1].size() + 1; // all but one of those under way, whose answers the receiver has not sent
  receiver_->advance();
  const double rate = receiver_->rate();
  wire_.late_from = SIZE_MAX;
  finish();
  EXPECT_GT(rate, 0);
  EXPECT_EQ(receiver_->rate(), rate);
}

} // namespace
} // namespace strata::comm
