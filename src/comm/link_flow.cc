// SPDX-License-Identifier: BSD-3-Clause
#include "comm/link_flow.h"

#include <algorithm>

namespace strata::comm {
namespace {

constexpr std::uint32_t window = 16; // 384 KiB under way: enough for 100 Gbit/s at 30 us
constexpr std::uint64_t pings = 6;
constexpr std::size_t short_bytes = 8;
/// The part of the stream's time after which it is steady: what shapers and buffers let pass at first is through.
constexpr double steady_from = 0.2;

constexpr std::size_t most_message_bytes = std::size_t{256} << 10;

/// What is sent. It is never freed: a transport may still read it when a flow was given up.
const std::byte* zeros() {
  static const std::byte* const bytes = new std::byte[most_message_bytes]();
  return bytes;
}

} // namespace

Result<LinkFlow> LinkFlow::prepare(transport::Links& links, std::int32_t ranks, std::int32_t peer, Side side,
                                   std::uint32_t plan, std::size_t message_bytes) {
  const sched::Tag data{0, sched::broadcast_phase, 0}, answer{0, sched::broadcast_phase, 1};
  const bool sends = side == Side::sender;
  transport::ChannelShape shape;
  shape.plan = plan;
  shape.window = window;
  shape.outgoing = {{sends ? data : answer, 0, {peer}, sends ? message_bytes : short_bytes}};
  shape.incoming = {{sends ? answer : data, 0, peer, sends ? short_bytes : message_bytes}};
  auto channel = links.prepare(shape);
  if (!channel) return channel.error();
  const std::vector<std::uint64_t> announcements(static_cast<std::size_t>(ranks), (*channel)->announcement());
  if (const Status connected = (*channel)->connect(announcements); !connected) return connected.error();
  (*channel)->make_ready(1);
  LinkFlow flow;
  flow.side_ = side;
  flow.channel_ = std::move(*channel);
  flow.message_bytes_ = std::min(message_bytes, most_message_bytes);
  return flow;
}

void LinkFlow::start(double seconds) {
  seconds_ = seconds;
  start_ = Clock::now();
}

bool LinkFlow::send_next(std::size_t bytes) {
  if (!channel_->start_send(0, next_, zeros(), bytes)) return false;
  ++next_;
  return true;
}

bool LinkFlow::advance_sender() {
  bool moved = false;
  while (oldest_ < next_ && channel_->arrived(0, oldest_) != nullptr && channel_->sent(0, oldest_)) {
    channel_->release(0, oldest_);
    channel_->finished(oldest_);
    if (oldest_ < pings) round_trips_.push_back(std::chrono::duration<double>(Clock::now() - asked_).count());
    ++oldest_;
    moved = true;
  }
  if (last_sent_) {
    over_ = oldest_ == next_;
    return moved;
  }
  if (next_ < pings) {
    if (oldest_ < next_) return moved;
    asked_ = Clock::now();
    return send_next(short_bytes) || moved;
  }
  if (since_start() < seconds_) {
    while (next_ - oldest_ < window && send_next(message_bytes_))
      moved = true;
  } else if (oldest_ == next_ && send_next(short_bytes)) {
    moved = last_sent_ = true;
  }
  return moved;
}

bool LinkFlow::advance_receiver() {
  bool moved = false;
  while (next_ - oldest_ < window && !answered_last_ && channel_->arrived(0, next_) != nullptr) {
    const std::size_t bytes = channel_->arrived_bytes(0, next_);
    if (!send_next(short_bytes)) break;
    channel_->release(0, next_ - 1);
    moved = true;
    const double now = since_start();
    if (next_ <= pings) continue;
    answered_last_ = bytes == short_bytes;
    if (!answered_last_) count_arrival(bytes, now);
  }
  while (oldest_ < next_ && channel_->sent(0, oldest_)) {
    channel_->finished(oldest_++);
    moved = true;
  }
  over_ = answered_last_ && oldest_ == next_;
  return moved;
}

// From the last arrival before the stream is steady to the first one after its time: all receivers count the same time,
// in which one whose packets were lost stood still. If each counted only while something came, those that share an
// uplink would together receive more than it carries. After the stream's time others may have ended, and what still
// comes has their share too.
void LinkFlow::count_arrival(std::size_t bytes, double now) {
  if (last_ >= seconds_) return;
  bytes_ += static_cast<double>(bytes);
  last_ = now;
  if (now >= steady_from * seconds_) return;
  first_ = now;
  bytes_ = 0;
}

bool LinkFlow::advance() {
  const bool progressed = channel_->progress();
  if (over_) return progressed;
  return (side_ == Side::sender ? advance_sender() : advance_receiver()) || progressed;
}

bool LinkFlow::finished() { return over_ && channel_->flushed(); }

double LinkFlow::latency() const {
  return round_trips_.empty() ? 0 : *std::min_element(round_trips_.begin(), round_trips_.end()) / 2;
}

double LinkFlow::rate() const { return last_ > first_ ? bytes_ / (last_ - first_) : 0; }

} // namespace strata::comm
