// SPDX-License-Identifier: BSD-3-Clause
// A transport for ranks of one process that is as unkind as the interface allows: it buffers nothing, a send is over
// only when every receiver has released the message, messages become visible late and in any order, and a send may
// find no room. What it decides is drawn from a seed, so a run by one thread can be repeated.
//
// It also keeps watch: over payloads that change while a receiver reads them, sizes that were not announced, messages
// that are left behind, and slices that finish out of order. What it sees is in Office::complaints().
#pragma once

#include "transport/transport.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <tuple>

namespace strata::delaying {

/// Where all messages of a test's ranks lie. Thread-safe.
class Office {
public:
  explicit Office(unsigned seed) : random_(seed) {}

  struct Key {
    std::uint64_t context; ///< the receiver's number of it
    std::int32_t sender, receiver;
    std::uint32_t plan, tag;
    sched::Unit begin;
    std::uint64_t slice;
    auto operator<=>(const Key&) const = default;
  };

  bool post(const Key& key, const void* payload, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (random_() % 4 == 0) return false;
    Letter letter;
    letter.payload = static_cast<const std::byte*>(payload);
    letter.bytes = bytes;
    if (!letters_.emplace(key, std::move(letter)).second) complain(key, "was sent twice");
    return true;
  }

  /// What the receiver reads: a copy made when it looks first, of exactly the message's size; at `place`, if it is not
  /// null, or all the same in memory of the office's own.
  const void* look(const Key& key, std::size_t most_bytes, std::byte* place = nullptr) {
    const std::lock_guard lock(mutex_);
    const auto found = letters_.find(key);
    if (found == letters_.end() || !found->second.visible) return nullptr;
    Letter& letter = found->second;
    if (letter.bytes > most_bytes) complain(key, "is larger than the receiver expects");
    if (letter.seen != nullptr) return letter.seen;
    if (place != nullptr && letter.bytes >= least_straight && !(some_come_by_the_host && random_() % 3 == 0)) {
      std::memcpy(place, letter.payload, letter.bytes);
      letter.seen = place;
    } else {
      letter.copy.assign(letter.payload, letter.payload + letter.bytes);
      letter.seen = letter.copy.data();
    }
    return letter.seen;
  }

  void release(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = letters_.find(key);
    if (found == letters_.end() || found->second.seen == nullptr) return complain(key, "is released but had not come");
    const Letter& letter = found->second;
    if (std::memcmp(letter.seen, letter.payload, letter.bytes) != 0) complain(key, "changed under way");
    letters_.erase(found);
    ++released_;
  }

  bool is_there(const Key& key) {
    const std::lock_guard lock(mutex_);
    return letters_.contains(key);
  }

  /// Lets some of the messages that are under way arrive. True if anything happened since `news` was last set.
  bool turn(std::uint64_t& news) {
    const std::lock_guard lock(mutex_);
    for (auto& [key, letter] : letters_)
      if (!letter.visible && random_() % 3 == 0) {
        letter.visible = true;
        ++arrived_;
      }
    return std::exchange(news, arrived_ + released_) != arrived_ + released_;
  }

  void finished(std::uint64_t context, std::int32_t rank, std::uint32_t plan, std::uint64_t slice) {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, letter] : letters_)
      if (key.context == context && key.receiver == rank && key.plan == plan && key.slice <= slice)
        complain(key, "was not released before its slice was finished");
  }

  void complain(const Key& key, const char* what) {
    complaints_.insert(
        fmt::format("message {} of slice {} from {} to {}: {}", key.tag, key.slice, key.sender, key.receiver, what));
  }
  std::string complaints() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& complaint : complaints_)
      text += complaint + "\n";
    if (!letters_.empty()) text += fmt::format("{} messages were left behind\n", letters_.size());
    return text;
  }
  /// Of messages that are sent from and received into a device's memory.
  std::size_t least_straight = SIZE_MAX;
  bool some_come_by_the_host = true; ///< though a place was offered

  bool by_chance() {
    const std::lock_guard lock(mutex_);
    return random_() % 2 == 0;
  }

private:
  struct Letter {
    const std::byte* payload = nullptr;
    std::size_t bytes = 0;
    bool visible = false;
    std::vector<std::byte> copy;
    const std::byte* seen = nullptr;
  };

  std::mutex mutex_;
  std::mt19937 random_;
  std::map<Key, Letter> letters_;
  std::uint64_t arrived_ = 0, released_ = 0;
  std::set<std::string> complaints_;
};

inline std::uint32_t packed(sched::Tag tag) {
  return static_cast<std::uint32_t>(tag.level) << 24 | static_cast<std::uint32_t>(tag.phase) << 16 | tag.round;
}

class Channel final : public transport::Channel {
public:
  Channel(Office& office, std::vector<std::uint64_t> contexts, std::int32_t self, const transport::ChannelShape& shape)
      : office_(office), contexts_(std::move(contexts)), self_(self), shape_(shape),
        posted_(shape.outgoing.size() * shape.window, 0) {}

  std::uint64_t announcement() const override { return announcement_of(self_); }

  Status connect(std::span<const std::uint64_t> announcements) override {
    for (std::size_t rank = 0; rank < announcements.size(); ++rank) // 0: a rank without a channel here
      if (announcements[rank] != 0 && announcements[rank] != announcement_of(static_cast<std::int32_t>(rank)))
        return Error{ErrorKind::peer, fmt::format("rank {} announced {}", rank, announcements[rank])};
    return ok();
  }

  bool start_send(std::size_t index, std::uint64_t slice, const void* payload, std::size_t bytes) override {
    const transport::Outgoing& message = shape_.outgoing[index];
    std::size_t& posted = posted_[index * shape_.window + slice % shape_.window];
    if (bytes == 0 || bytes > message.most_bytes) office_.complain(outgoing(index, 0, slice), "has a wrong size");
    for (; posted < message.peers.size(); ++posted) {
      if (!office_.post(outgoing(index, posted, slice), payload, bytes)) return false;
      ++traffic_.messages;
      traffic_.bytes += bytes;
    }
    posted = 0;
    return true;
  }

  bool sent(std::size_t index, std::uint64_t slice) override {
    for (std::size_t peer = 0; peer < shape_.outgoing[index].peers.size(); ++peer)
      if (office_.is_there(outgoing(index, peer, slice))) return false;
    return true;
  }

  std::size_t least_straight(MemoryKind) const override { return office_.least_straight; }
  void prepare_offers() override { offers_.resize(shape_.incoming.size() * shape_.window); }
  /// From now on a real transport may write there.
  void offer(std::size_t index, std::uint64_t slice, void* place) override {
    std::memset(place, 0x5a, shape_.incoming[index].most_bytes);
    offers_[index * shape_.window + slice % shape_.window] = {slice, static_cast<std::byte*>(place)};
  }
  const void* arrived(std::size_t index, std::uint64_t slice) override {
    std::byte* place = nullptr;
    if (!offers_.empty())
      if (const auto& [offered, at] = offers_[index * shape_.window + slice % shape_.window]; offered == slice)
        place = at;
    return office_.look(incoming(index, slice), shape_.incoming[index].most_bytes, place);
  }
  void release(std::size_t index, std::uint64_t slice) override { office_.release(incoming(index, slice)); }

  void finished(std::uint64_t slice) override {
    if (slice != next_slice_++) office_.complain({}, "a slice was finished out of order");
    office_.finished(own_context(), self_, shape_.plan, slice);
  }

  bool progress() override { return office_.turn(news_); }
  bool flushed() override { return office_.by_chance(); }

private:
  std::uint64_t announcement_of(std::int32_t rank) const {
    return 1000 * (std::uint64_t{shape_.plan} + 1) + static_cast<std::uint64_t>(rank);
  }
  std::uint64_t own_context() const { return contexts_[static_cast<std::size_t>(self_)]; }
  Office::Key outgoing(std::size_t index, std::size_t peer, std::uint64_t slice) const {
    const transport::Outgoing& message = shape_.outgoing[index];
    const std::int32_t receiver = message.peers[peer];
    const std::uint64_t context = contexts_[static_cast<std::size_t>(receiver)];
    return {context, self_, receiver, shape_.plan, packed(message.tag), message.begin, slice};
  }
  Office::Key incoming(std::size_t index, std::uint64_t slice) const {
    const transport::Incoming& message = shape_.incoming[index];
    return {own_context(), message.peer, self_, shape_.plan, packed(message.tag), message.begin, slice};
  }

  Office& office_;
  std::vector<std::uint64_t> contexts_;
  std::int32_t self_;
  transport::ChannelShape shape_;
  std::vector<std::size_t> posted_;                          ///< by message and slot: peers that have been served
  std::vector<std::pair<std::uint64_t, std::byte*>> offers_; ///< by message and slot: of which slice, and where
  std::uint64_t next_slice_ = 0;
  std::uint64_t news_ = 0;
};

class Links final : public transport::Links {
public:
  Links(Office& office, std::vector<std::uint64_t> contexts, std::int32_t self, std::vector<bool> members)
      : office_(office), contexts_(std::move(contexts)), self_(self), members_(std::move(members)) {}
  bool reaches(std::int32_t rank) const override { return members_[static_cast<std::size_t>(rank)]; }
  Result<std::unique_ptr<transport::Channel>> prepare(const transport::ChannelShape& shape) override {
    return std::unique_ptr<transport::Channel>(std::make_unique<Channel>(office_, contexts_, self_, shape));
  }

private:
  Office& office_;
  std::vector<std::uint64_t> contexts_; ///< by rank: its number of the context
  std::int32_t self_;
  std::vector<bool> members_;
};

class Transport final : public transport::Transport {
public:
  explicit Transport(Office& office) : office_(office) {}
  const char* name() const override { return "delaying"; }
  const std::string& address() const override { return address_; }
  std::size_t eager_limit() const override { return 4096; }
  Result<std::unique_ptr<transport::Links>> link(std::span<const transport::PeerAddress> ranks, std::int32_t self,
                                                 const std::vector<bool>& members) override {
    std::vector<std::uint64_t> contexts;
    for (const transport::PeerAddress& rank : ranks)
      contexts.push_back(rank.context_key);
    return std::unique_ptr<transport::Links>(std::make_unique<Links>(office_, std::move(contexts), self, members));
  }

private:
  Office& office_;
  std::string address_ = "here";
};

} // namespace strata::delaying
