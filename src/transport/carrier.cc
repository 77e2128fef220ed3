// SPDX-License-Identifier: BSD-3-Clause
#include "transport/carrier.h"

#include "transport/message_channel.h"

#include <algorithm>

namespace strata::transport {

Carrier::~Carrier() = default;

bool Carrier::end_call(std::uint64_t written, bool begun) {
  const std::uint64_t needed = begun ? std::max(written, owed_) : written;
  if (gone() < needed) flush();
  if (gone() < needed) {
    if (calls_.load(std::memory_order_relaxed) == (begun ? 1 : 0)) return false;
    owed_ = std::max(owed_, needed);
  }
  if (begun) calls_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void Carrier::enter(MessageChannel& channel) {
  struct Entry { ///< undone where memory ends half-way
    Carrier& carrier;
    MessageChannel& channel;
    std::deque<Parked> waiting;
    bool complete = false;
    ~Entry() {
      for (const Parked& message : waiting)
        carrier.let_go(message.payload);
      if (!complete) carrier.leave(channel);
    }
  } entry{*this, channel, {}};
  channels_[{channel.context_key(), channel.plan()}] = &channel;
  entry.waiting.swap(parked_);
  parked_bytes_ = 0;
  for (; !entry.waiting.empty(); entry.waiting.pop_front())
    if (!deliver(entry.waiting.front().header, entry.waiting.front().payload)) let_go(entry.waiting.front().payload);
  entry.complete = true;
}

void Carrier::leave(MessageChannel& channel) {
  const auto place = channels_.find({channel.context_key(), channel.plan()});
  if (place != channels_.end() && place->second == &channel) channels_.erase(place);
}

void Carrier::adopt(std::unique_ptr<SendRecord[]> records, std::unique_ptr<Post[]> posts) {
  orphaned_records_.push_back(std::move(records));
  orphaned_posts_.push_back(std::move(posts));
}

MessageChannel* Carrier::channel_of(const WireHeader& header) const {
  const auto place = channels_.find({header.context_key, header.plan});
  return place == channels_.end() ? nullptr : place->second;
}

Carrier::Expected Carrier::expected(const WireHeader& header, std::size_t bytes) {
  if (header.version != WireHeader::current_version) return Expected::refused;
  MessageChannel* channel = channel_of(header);
  if (channel == nullptr) return bytes <= most_parked_bytes ? Expected::by_nobody_yet : Expected::refused;
  return channel->expect(header, bytes) == ArrivalTable::none ? Expected::refused : Expected::by_channel;
}

bool Carrier::deliver(const WireHeader& header, const Payload& payload) {
  if (header.version != WireHeader::current_version) return false;
  MessageChannel* channel = channel_of(header);
  return channel == nullptr ? park(header, payload) : channel->deliver(header, payload);
}

bool Carrier::park(const WireHeader& header, const Payload& payload) {
  if (payload.size > most_parked_bytes) return false;
  while (parked_.size() >= most_parked_messages || parked_bytes_ + payload.size > most_parked_bytes) {
    const Payload oldest = parked_.front().payload;
    parked_.pop_front();
    parked_bytes_ -= oldest.size;
    let_go(oldest);
  }
  parked_.push_back({header, payload});
  parked_bytes_ += payload.size;
  return true;
}

void Carrier::lost(const WireHeader& header, const char* why) {
  if (MessageChannel* channel = channel_of(header); channel != nullptr) channel->fail(why);
}

void* Carrier::claim(const WireHeader& header) {
  MessageChannel* channel = channel_of(header);
  return channel == nullptr ? nullptr : channel->claim(header);
}

void Carrier::fetched(const WireHeader& header) {
  if (MessageChannel* channel = channel_of(header); channel != nullptr) channel->note_fetched();
}

void Carrier::note_answer(const WireHeader& header) {
  sequence_.fetch_add(1, std::memory_order_relaxed);
  if (MessageChannel* channel = channel_of(header); channel != nullptr) channel->note_written(sequence());
}

void Carrier::completed(Post& message, const char* failure) {
  message.under_way = false;
  SendRecord& record = *message.record;
  if (MessageChannel* channel = record.channel; channel != nullptr) {
    if (failure != nullptr) channel->fail(failure);
    record.unfinished.fetch_sub(1, std::memory_order_release);
    channel->note_post_finished();
  } else {
    record.unfinished.fetch_sub(1, std::memory_order_release);
  }
}

void Carrier::report_failure(PeerNumber peer) {
  const char* why = peer_failure(peer);
  for (const auto& [route, channel] : channels_)
    channel->note_peer_failure(peer, why == nullptr ? "the connection failed" : why);
}

void Carrier::report_failure(const char* why) {
  for (const auto& [route, channel] : channels_)
    channel->fail(why);
}

void Carrier::drop_parked() {
  for (const Parked& message : parked_)
    let_go(message.payload);
  parked_.clear();
  parked_bytes_ = 0;
}

} // namespace strata::transport
