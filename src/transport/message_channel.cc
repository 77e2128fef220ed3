// SPDX-License-Identifier: BSD-3-Clause
#include "transport/message_channel.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <thread>
#include <utility>

namespace strata::transport {
namespace {

// For what was posted in a call that is given up: to be read by peers that live, and then to be taken back.
constexpr auto patience_with_readers = std::chrono::milliseconds(2000);
constexpr auto patience_with_the_carrier = std::chrono::milliseconds(500);
constexpr auto between_looks = std::chrono::microseconds(50);

} // namespace

MessageChannel::MessageChannel(Carrier& carrier, Identity identity, const ChannelShape& shape,
                               std::span<const Party> destinations, std::vector<Party> sources)
    : carrier_(carrier), identity_(identity), plan_(shape.plan), window_(std::max<std::size_t>(shape.window, 1)),
      record_count_(shape.outgoing.size() * window_), records_(new SendRecord[record_count_]),
      post_count_(destinations.size() * window_), posts_(new Post[post_count_]), parties_(std::move(sources)),
      arrivals_(shape.incoming, shape.window), incoming_(shape.incoming.size()) {
  std::size_t first = 0;
  for (std::size_t index = 0; index < shape.outgoing.size(); ++index) {
    const Outgoing& outgoing = shape.outgoing[index];
    messages_.push_back({first * window_, static_cast<std::uint32_t>(outgoing.peers.size())});
    for (std::size_t slot = 0; slot < window_; ++slot) {
      SendRecord& record = record_of(index, slot);
      record.channel = this;
      Post* post = posts_of(index, slot);
      for (std::size_t peer = 0; peer < outgoing.peers.size(); ++peer, ++post) {
        const Party& destination = destinations[first + peer];
        post->peer = destination.peer;
        post->record = &record;
        post->header.plan = plan_;
        post->header.context_key = destination.context_key;
        post->header.begin = outgoing.begin;
        post->header.sender = static_cast<std::uint32_t>(identity_.self);
        post->header.tag = packed(outgoing.tag);
      }
    }
    first += outgoing.peers.size();
  }
  parties_.insert(parties_.end(), destinations.begin(), destinations.end());
  std::sort(parties_.begin(), parties_.end(), [](const Party& a, const Party& b) { return a.rank < b.rank; });
  const auto merge = [](Party& a, const Party& b) {
    if (a.rank != b.rank) return false;
    a.sent_to |= b.sent_to;
    a.heard_from |= b.heard_from;
    return true;
  };
  std::size_t kept = 0;
  for (std::size_t next = 1; next < parties_.size(); ++next)
    if (!merge(parties_[kept], parties_[next])) parties_[++kept] = parties_[next];
  if (!parties_.empty()) parties_.resize(kept + 1);

  const std::lock_guard guard(carrier_.lock);
  carrier_.enter(*this);
}

MessageChannel::~MessageChannel() {
  const std::lock_guard guard(carrier_.lock);
  carrier_.leave(*this);
  if (in_call_) carrier_.give_up_call();
  if (greeting_ && !connected_)
    for (const Party& party : parties_)
      if (party.sent_to && !carrier_.greeting_sent(party.peer)) carrier_.abandon(party.peer);
  for (Payload payload = arrivals_.take_any(); payload.bytes != nullptr; payload = arrivals_.take_any())
    carrier_.let_go(payload);
  bool under_way = false;
  for (std::size_t record = 0; record < record_count_; ++record) {
    records_[record].channel = nullptr;
    under_way |= records_[record].unfinished.load(std::memory_order_acquire) != 0;
  }
  if (under_way) carrier_.adopt(std::move(records_), std::move(posts_));
}

Status MessageChannel::connect(std::span<const std::uint64_t>) {
  if (const char* why = failure(); why != nullptr) return Error{ErrorKind::peer, why};
  const std::lock_guard guard(carrier_.lock);
  for (const Party& party : parties_)
    if (party.sent_to) carrier_.greet(party.peer);
  greeting_ = true;
  note_written(carrier_.sequence());
  return ok();
}

void MessageChannel::give_up_connecting() {
  if (connected_) return;
  const std::lock_guard guard(carrier_.lock);
  for (const Party& party : parties_)
    if (party.heard_from && !carrier_.has_greeted(party.peer)) carrier_.note_silent(party.peer);
}

bool MessageChannel::connected() {
  if (connected_) return true;
  {
    const std::lock_guard guard(carrier_.lock);
    for (const Party& party : parties_) {
      if (party.sent_to && !carrier_.greeting_sent(party.peer)) return false;
      if (party.heard_from && !carrier_.has_greeted(party.peer)) return false;
    }
  }
  connected_ = flushed(); // our own greetings have left
  return connected_;
}

void MessageChannel::begin_call() {
  if (!in_call_) carrier_.begin_call();
  in_call_ = true;
}

bool MessageChannel::post(std::size_t index, std::uint64_t slice, const void* payload, std::size_t bytes,
                          bool straight) {
  SendRecord& record = record_of(index, slice);
  const std::uint32_t peers = messages_[index].peers;
  if (record.slice_plus_one != slice + 1) {
    if (record.unfinished.load(std::memory_order_acquire) != 0) return false;
    record.slice_plus_one = slice + 1;
    record.posted = 0;
    record.unfinished.store(peers, std::memory_order_relaxed);
  }
  Post* posts = posts_of(index, slice);
  const std::lock_guard guard(carrier_.lock);
  while (record.posted < peers) {
    Post& post = posts[record.posted];
    post.header.slice = slice;
    post.payload = payload;
    post.bytes = bytes;
    post.straight = straight;
    const Carrier::Posted posted = carrier_.post(post);
    if (posted == Carrier::Posted::no_room) return false;
    if (posted == Carrier::Posted::failed) {
      const char* why = carrier_.peer_failure(post.peer);
      note_peer_failure(post.peer, why == nullptr ? "a message could not be sent" : why);
    }
    post.under_way = posted == Carrier::Posted::under_way;
    if (!post.under_way) record.unfinished.fetch_sub(1, std::memory_order_release);
    ++record.posted;
    ++traffic_.messages;
    traffic_.bytes += bytes;
    note_written(carrier_.sequence());
  }
  return true;
}

void MessageChannel::offer(std::size_t index, std::uint64_t slice, void* place) {
  const std::lock_guard guard(carrier_.lock);
  if (!offers_.empty()) offer_of(index, slice) = {place, slice};
}

void MessageChannel::prepare_offers() {
  const std::lock_guard guard(carrier_.lock);
  offers_.resize(incoming_ * window_);
}

void* MessageChannel::claim(const WireHeader& header) {
  if (offers_.empty()) return nullptr;
  const std::size_t index = arrivals_.find(static_cast<std::int32_t>(header.sender), header.tag, header.begin);
  if (index == ArrivalTable::none) return nullptr;
  Offer& offered = offer_of(index, header.slice);
  if (offered.place == nullptr || offered.slice != header.slice) return nullptr;
  fetches_.fetch_add(1, std::memory_order_relaxed);
  return std::exchange(offered.place, nullptr);
}

bool MessageChannel::sent(std::size_t index, std::uint64_t slice) {
  const SendRecord& record = record_of(index, slice);
  return record.slice_plus_one != slice + 1 || record.unfinished.load(std::memory_order_acquire) == 0;
}

Payload MessageChannel::look(std::size_t index, std::uint64_t slice) {
  const Payload payload = arrivals_.look(index, slice);
  if (payload.bytes != nullptr || !arrivals_.overflowed()) return payload;
  const std::lock_guard guard(carrier_.lock);
  return arrivals_.look_overflow(index, slice);
}

const void* MessageChannel::arrived(std::size_t index, std::uint64_t slice) { return look(index, slice).bytes; }

std::size_t MessageChannel::arrived_bytes(std::size_t index, std::uint64_t slice) { return look(index, slice).size; }

void MessageChannel::refuse(std::size_t index, std::uint64_t slice, std::size_t bytes) {
  const std::size_t came = arrived_bytes(index, slice);
  const std::lock_guard guard(carrier_.lock); // another thread may move messages of this channel on
  fail(fmt::format("a message of {} bytes came where the arguments of this rank's call make it {}", came, bytes));
}

void MessageChannel::release(std::size_t index, std::uint64_t slice) {
  const std::lock_guard guard(carrier_.lock);
  const Payload payload = arrivals_.take(index, slice);
  if (payload.bytes != nullptr) carrier_.let_go(payload);
}

void MessageChannel::finished(std::uint64_t slice) {
  if (done_below_.load(std::memory_order_relaxed) <= slice) done_below_.store(slice + 1, std::memory_order_release);
}

bool MessageChannel::progress() {
  // Another thread that moves messages on does it for this channel too.
  if (std::unique_lock guard(carrier_.lock, std::try_to_lock); guard.owns_lock()) carrier_.advance();
  return news_.load(std::memory_order_relaxed) && news_.exchange(false, std::memory_order_acquire);
}

bool MessageChannel::flushed() {
  if (!in_call_ && carrier_.gone() >= last_written_.load(std::memory_order_relaxed)) return true;
  const std::lock_guard guard(carrier_.lock);
  if (!carrier_.end_call(last_written_.load(std::memory_order_relaxed), in_call_)) return false;
  in_call_ = false;
  last_written_.store(0, std::memory_order_relaxed); // also what another thread sees to now
  return true;
}

void MessageChannel::give_up_call() {
  withdraw_offers();
  forget_unposted();
  const auto finish_within = [this](std::chrono::steady_clock::duration patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!posts_are_done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      (void)progress();
      std::this_thread::sleep_for(between_looks);
    }
    return true;
  };
  if (!finish_within(patience_with_readers)) {
    drop_connections_of_unfinished();
    (void)finish_within(patience_with_the_carrier);
  }
  if (in_call_) carrier_.give_up_call();
  in_call_ = false;
}

void MessageChannel::withdraw_offers() {
  const std::lock_guard guard(carrier_.lock);
  offers_.clear();
}

void MessageChannel::forget_unposted() {
  for (std::size_t index = 0; index < messages_.size(); ++index)
    for (std::size_t slot = 0; slot < window_; ++slot) {
      SendRecord& record = record_of(index, slot);
      if (record.slice_plus_one == 0) continue;
      record.unfinished.fetch_sub(messages_[index].peers - record.posted, std::memory_order_release);
      record.posted = messages_[index].peers;
    }
}

/// A carrier takes posts back only with the connection that they wait for.
void MessageChannel::drop_connections_of_unfinished() {
  const std::lock_guard guard(carrier_.lock);
  for (std::size_t post = 0; post < post_count_; ++post)
    if (posts_[post].under_way) carrier_.abandon(posts_[post].peer);
}

bool MessageChannel::quiescent() { return fetches_.load(std::memory_order_acquire) == 0 && posts_are_done(); }

bool MessageChannel::posts_are_done() const {
  return std::all_of(records_.get(), records_.get() + record_count_,
                     [](const SendRecord& record) { return record.unfinished.load(std::memory_order_acquire) == 0; });
}

const char* MessageChannel::failure() const {
  return failed_.load(std::memory_order_acquire) ? failure_.c_str() : nullptr;
}

std::size_t MessageChannel::expect(const WireHeader& header, std::size_t bytes) {
  const std::size_t index = arrivals_.find(static_cast<std::int32_t>(header.sender), header.tag, header.begin);
  if (index == ArrivalTable::none) {
    fail(fmt::format("rank {} sent a message (tag {:#x}, begin {}) that plan {} does not have", header.sender,
                     header.tag, header.begin, plan_));
    return ArrivalTable::none;
  }
  if (bytes == 0 || bytes > arrivals_.most_bytes(index)) {
    fail(fmt::format("rank {} sent {} bytes where plan {} allows 1 to {}", header.sender, bytes, plan_,
                     arrivals_.most_bytes(index)));
    return ArrivalTable::none;
  }
  if (header.slice < done_below_.load(std::memory_order_acquire)) {
    fail(fmt::format("rank {} sent a message of slice {}, which plan {} has finished", header.sender, header.slice,
                     plan_));
    return ArrivalTable::none;
  }
  return index;
}

bool MessageChannel::deliver(const WireHeader& header, const Payload& payload) {
  const std::size_t index = expect(header, payload.size);
  if (index == ArrivalTable::none) return false;
  if (!arrivals_.put(index, header.slice, payload)) {
    fail(fmt::format("rank {} sent a message of slice {} twice", header.sender, header.slice));
    return false;
  }
  news_.store(true, std::memory_order_release);
  return true;
}

void MessageChannel::fail(const std::string& why) noexcept {
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    failure_ = why;
  } catch (const std::bad_alloc&) {
    failure_ = "out of memory"; // short enough for a string without memory of its own
  }
  failed_.store(true, std::memory_order_release);
  news_.store(true, std::memory_order_release);
}

void MessageChannel::note_peer_failure(PeerNumber peer, const char* why) noexcept {
  for (const Party& party : parties_) {
    if (party.peer != peer) continue;
    try {
      return fail(fmt::format("rank {} is gone: {}", party.rank, why));
    } catch (...) {
      return fail("a rank is gone"); // short enough for a string without memory of its own
    }
  }
}

MessageLinks::MessageLinks(Carrier& carrier, std::span<const PeerAddress> ranks, std::int32_t self,
                           const std::vector<bool>& members)
    : carrier_(carrier), self_(self) {
  const bool usable = !ranks[static_cast<std::size_t>(self)].address.empty();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const bool wanted = usable && rank < members.size() && members[rank] && static_cast<std::int32_t>(rank) != self;
    ranks_.push_back({wanted ? ranks[rank].address : std::string(), ranks[rank].context_key});
  }
}

bool MessageLinks::reaches(std::int32_t rank) const {
  return rank >= 0 && static_cast<std::size_t>(rank) < ranks_.size() &&
         !ranks_[static_cast<std::size_t>(rank)].address.empty();
}

Result<Party> MessageLinks::party(std::int32_t rank, Carrier::Use use) {
  if (!reaches(rank)) return Error{ErrorKind::unsupported, fmt::format("rank {} has no address here", rank)};
  const Rank& known = ranks_[static_cast<std::size_t>(rank)];
  const std::lock_guard guard(carrier_.lock);
  const auto peer = carrier_.peer(known.address, use);
  if (!peer) return Error{peer.error().kind, fmt::format("rank {}: {}", rank, peer.error().message)};
  // Known before anything is sent: then no rank waits for what would not come.
  if (const char* why = carrier_.peer_failure(*peer))
    return Error{ErrorKind::peer, fmt::format("rank {}: {}", rank, why)};
  if (use == Carrier::Use::hear && carrier_.is_silent(*peer))
    return Error{ErrorKind::peer, fmt::format("rank {} was not heard of before", rank)};
  return Party{*peer, rank, known.context_key, use == Carrier::Use::send, use == Carrier::Use::hear};
}

Result<std::unique_ptr<Channel>> MessageLinks::prepare(const ChannelShape& shape) {
  std::vector<Party> destinations;
  for (const Outgoing& outgoing : shape.outgoing)
    for (const std::int32_t rank : outgoing.peers) {
      const auto destination = party(rank, Carrier::Use::send);
      if (!destination) return destination.error();
      destinations.push_back(*destination);
    }
  std::vector<Party> sources;
  for (const Incoming& incoming : shape.incoming) {
    const auto source = party(incoming.peer, Carrier::Use::hear);
    if (!source) return source.error();
    sources.push_back(*source);
  }
  const MessageChannel::Identity identity{ranks_[static_cast<std::size_t>(self_)].context_key, self_};
  return std::unique_ptr<Channel>(
      std::make_unique<MessageChannel>(carrier_, identity, shape, destinations, std::move(sources)));
}

} // namespace strata::transport
