// SPDX-License-Identifier: BSD-3-Clause
#include "comm/message_timing.h"

#include "base/elapsed.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

namespace strata::comm {
namespace {

using Clock = std::chrono::steady_clock;

/// What the first byte of a message says of the next one.
enum class Next : std::uint8_t { same_size, next_size, nothing };

constexpr std::size_t most_messages = 101;
/// Of a size, that do not count, but for no more than half of its time: the first ones find pages new, connections not
/// made and caches as they were. (256 KiB between two cores of a Zen 4 that share a cache: the first take 24 us, the
/// tenth 20, and from about the fiftieth on all take 15.)
constexpr std::size_t most_uncounted = 64;
constexpr std::size_t enough_messages = 9; ///< where they hardly differ
constexpr double hardly = 0.1;
/// What a message of the next size may be expected to take, of the seconds for a size, for that size to be tried.
constexpr double much_longer = 50;

/// What messages of one size took.
class Times {
public:
  void add(double seconds) { seconds_[count_++] = seconds; }
  std::size_t count() const { return count_; }
  double median() const { return count_ == 0 ? 0 : quantile(0.5); }
  /// Whether the middle half of enough of them lies close together.
  bool are_alike() const {
    return count_ >= enough_messages && quantile(0.75) - quantile(0.25) <= hardly * quantile(0.5);
  }

private:
  double quantile(double part) const {
    std::array<double, most_messages> sorted = seconds_;
    const auto place = sorted.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(count_));
    std::nth_element(sorted.begin(), place, sorted.begin() + static_cast<std::ptrdiff_t>(count_));
    return *place;
  }

  std::array<double, most_messages> seconds_{};
  std::size_t count_ = 0;
};

/// A message there and back; the seconds, or 0 when that failed.
double there_and_back(Courier& courier, std::byte* payload, std::size_t bytes, Next next) {
  payload[0] = static_cast<std::byte>(next);
  const double start = courier.seconds();
  if (!courier.send(payload, bytes) || !courier.receive(payload, bytes)) return 0;
  return std::max(courier.seconds() - start, 1e-9);
}

} // namespace

double Courier::seconds() const { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

Result<std::unique_ptr<ChannelCourier>> ChannelCourier::prepare(transport::Links& links, const CourierWay& way,
                                                                std::uint32_t plan, double patience,
                                                                engine::Waiter waiter) {
  const sched::Tag tag{0, sched::broadcast_phase, 0};
  transport::ChannelShape shape;
  shape.plan = plan;
  shape.window = way.ahead;
  shape.outgoing = {{tag, 0, way.to, way.most_bytes}};
  for (const std::int32_t peer : way.from)
    shape.incoming.push_back({tag, 0, peer, way.most_bytes});
  auto channel = links.prepare(shape);
  if (!channel) return channel.error();
  return std::unique_ptr<ChannelCourier>(new ChannelCourier(std::move(*channel), way.from.size(), patience, waiter));
}

template <typename Condition>
bool ChannelCourier::wait_until(const Condition& condition) {
  const Clock::time_point start = Clock::now();
  waiter_.reset();
  for (std::uint32_t looks = 1; !condition(); ++looks) {
    constexpr std::uint32_t looks_of_the_clock = 256;
    if (channel_->failure() != nullptr) return false;
    if (looks % looks_of_the_clock == 0 && seconds_since(start) > patience_) return false;
    if (!channel_->progress()) waiter_.step(false);
  }
  return true;
}

bool ChannelCourier::hear_of_peer() {
  return wait_until([&] { return channel_->connected(); });
}

/// Ends the slices in which this rank has sent and received.
bool ChannelCourier::end_turn() {
  for (; finished_ < std::min(sent_, received_); ++finished_) {
    if (!wait_until([&] { return channel_->sent(0, finished_); })) return false;
    channel_->finished(finished_);
  }
  return true;
}

bool ChannelCourier::send(const std::byte* payload, std::size_t bytes) {
  if (!end_turn()) return false;
  if (bytes <= kept_.size()) // nobody's answer may come before it has left
    payload = static_cast<const std::byte*>(std::memcpy(kept_.data(), payload, bytes));
  if (channel_->shares_memory()) {
    void* room = nullptr;
    if (!wait_until([&] { return (room = channel_->room(0, sent_)) != nullptr; })) return false;
    std::memcpy(room, payload, bytes);
    channel_->publish(0, sent_, bytes);
  } else if (!wait_until([&] { return channel_->start_send(0, sent_, payload, bytes); })) {
    return false;
  }
  ++sent_;
  return true;
}

bool ChannelCourier::receive(std::byte* payload, std::size_t bytes) {
  const void* arrived = nullptr;
  if (!wait_until([&] { return (arrived = channel_->arrived(next_source_, received_)) != nullptr; })) return false;
  std::memcpy(payload, arrived, bytes);
  channel_->release(next_source_, received_);
  if (++next_source_ < sources_) return true;
  next_source_ = 0;
  ++received_;
  return true;
}

bool ChannelCourier::finish() {
  if (!end_turn() || !wait_until([&] { return channel_->flushed(); })) return false;
  channel_->depart();
  return true;
}

void ChannelCourier::abandon(std::unique_ptr<ChannelCourier> courier) {
  if (!courier) return;
  courier->channel_->give_up_call();
  if (courier->channel_->shares_memory()) (void)courier.release();
}

tune::SecondsBySize ask_messages(Courier& courier, std::byte* payload, double seconds_each, std::size_t least) {
  tune::SecondsBySize found{};
  for (std::size_t size = 0; size < found.size(); ++size) {
    const std::size_t bytes = tune::message_sizes[size];
    Times times;
    const double start = courier.seconds();
    bool is_last = false, is_end = false;
    for (std::size_t message = 0; !is_last; ++message) {
      const double spent = courier.seconds() - start;
      const bool counts = message > 0 && (message >= most_uncounted || spent > seconds_each / 2);
      const std::size_t counted = times.count() + (counts ? 1 : 0); // with this one
      is_last = counted >= least && (spent > seconds_each || counted == most_messages || times.are_alike());
      if (is_last) {
        const bool is_largest = size + 1 == found.size();
        const double grows = is_largest ? 0 : static_cast<double>(tune::message_sizes[size + 1] / bytes);
        is_end = is_largest || times.median() * grows > much_longer * seconds_each;
      }
      const Next next = !is_last ? Next::same_size : is_end ? Next::nothing : Next::next_size;
      const double took = there_and_back(courier, payload, bytes, next);
      if (took <= 0) return found;
      if (counts) times.add(took);
    }
    found[size] = times.median() / 2;
    if (is_end) break;
  }
  return found;
}

bool answer_messages(Courier& courier, std::byte* payload) {
  for (std::size_t size = 0; size < tune::message_sizes.size();) {
    if (!courier.receive(payload, tune::message_sizes[size])) return false;
    const auto next = static_cast<Next>(payload[0]);
    if (!courier.send(payload, tune::message_sizes[size])) return false;
    if (next == Next::nothing) return true;
    if (next == Next::next_size) ++size;
  }
  return true;
}

double pass_around(Courier& courier, double seconds, const RingPart& part) {
  constexpr std::size_t most_parts = 8;
  std::array<double, most_parts + 1> parts{};
  std::size_t count = 0;
  const double start = courier.seconds();
  double begun = start;                      // this part
  std::uint64_t first_of_part = 0, last = 0; // last: the round that is; 0: nobody has said
  for (std::uint64_t round = 1; last == 0 || round <= last; ++round) {
    if (part.decides && last == 0 && courier.seconds() - start >= seconds)
      last = round + static_cast<std::uint64_t>(part.size); // by then it has been around
    std::array<std::byte, passed_bytes> payload{};
    std::memcpy(payload.data(), &last, passed_bytes);
    if (!courier.send(payload.data(), passed_bytes)) return 0;
    for (std::size_t source = 0; source < part.sources; ++source) {
      if (!courier.receive(payload.data(), passed_bytes)) return 0;
      std::uint64_t said = 0;
      std::memcpy(&said, payload.data(), passed_bytes);
      last = std::max(last, said);
    }
    const double now = courier.seconds();
    const bool is_over = now - begun >= seconds / most_parts || round == last;
    if (!is_over || count == parts.size()) continue;
    parts[count++] = (now - begun) / static_cast<double>(round - first_of_part);
    begun = now;
    first_of_part = round;
  }
  // The first part finds caches cold, and ranks that have not begun.
  auto* const begin = parts.data() + (count > 2 ? 1 : 0);
  auto* const end = parts.data() + count;
  std::nth_element(begin, begin + (end - begin) / 2, end);
  return std::max(begin[(end - begin) / 2], 1e-9);
}

} // namespace strata::comm
