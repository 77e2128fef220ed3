// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/shm_channel.h"

#include "base/rounding.h"
#include "transport/shm/order_by_peers.h"
#include "transport/shm/pages_to_populate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace strata::transport::shm {
namespace {

constexpr std::size_t inline_bytes = line_bytes - sizeof(std::uint64_t);

std::size_t whole_lines(std::size_t bytes) { return rounded_up(bytes, line_bytes); }

/// Of a sequence number: the payload was put aside.
constexpr std::uint64_t aside = std::uint64_t{1} << 63;
/// Likewise: and is there when a flag says so.
constexpr std::uint64_t promised = std::uint64_t{1} << 62;

/// A small payload shares the line of its sequence number: one transfer between caches instead of two.
std::size_t payload_offset(std::size_t most_bytes) {
  return most_bytes <= inline_bytes ? sizeof(std::uint64_t) : line_bytes;
}

std::atomic<std::uint64_t>& sequence(std::byte* slot) { return *reinterpret_cast<std::atomic<std::uint64_t>*>(slot); }

/// Of an entry and the word that belongs to it.
constexpr std::size_t entry_bytes = sizeof(DirectoryEntry) + sizeof(FlagPlace);

FlagPlace* flag_place_of(std::byte* block, std::size_t entries, std::size_t entry) {
  std::byte* const places = block + sizeof(BlockHeader) + entries * sizeof(DirectoryEntry);
  return reinterpret_cast<FlagPlace*>(places + entry * sizeof(FlagPlace));
}

} // namespace

std::uint32_t packed(sched::Tag tag) {
  return static_cast<std::uint32_t>(tag.level) << 24 | static_cast<std::uint32_t>(tag.phase) << 16 | tag.round;
}

std::size_t ShmChannel::peer_index(std::int32_t rank) {
  const auto found = std::find(peer_ranks_.begin(), peer_ranks_.end(), rank);
  if (found != peer_ranks_.end()) return static_cast<std::size_t>(found - peer_ranks_.begin());
  peer_ranks_.push_back(rank);
  return peer_ranks_.size() - 1;
}

Result<std::unique_ptr<Channel>> ShmChannel::prepare(std::shared_ptr<const Neighbours> neighbours,
                                                     const ChannelShape& shape) {
  Segment& segment = *neighbours->own;
  std::unique_ptr<ShmChannel> channel(new ShmChannel(std::move(neighbours), shape));
  std::size_t receivers = 0;
  for (const Outgoing& message : shape.outgoing)
    receivers += message.peers.size();
  std::size_t end = whole_lines(sizeof(BlockHeader) + receivers * entry_bytes);
  std::vector<DirectoryEntry> directory;
  for (const Outgoing& message : shape.outgoing) {
    DirectoryEntry entry{};
    entry.begin = static_cast<std::uint64_t>(message.begin);
    entry.tag = packed(message.tag);
    entry.payload = static_cast<std::uint32_t>(payload_offset(message.most_bytes));
    entry.offset = end;
    entry.stride = whole_lines(entry.payload + message.most_bytes);
    end += entry.stride * shape.window;
    Sender sender;
    sender.offset = entry.offset;
    sender.stride = entry.stride;
    sender.payload = entry.payload;
    sender.first_entry = directory.size();
    for (const std::int32_t rank : message.peers) {
      entry.receiver = rank;
      directory.push_back(entry);
      sender.readers.push_back(static_cast<std::uint32_t>(channel->peer_index(rank)));
    }
    channel->senders_.push_back(std::move(sender));
  }
  auto lease = segment.lease(end);
  if (!lease) return lease.error();
  channel->block_offset_ = *lease;
  channel->block_bytes_ = end;
  channel->flag_bytes_ = shape.incoming.size() * shape.window * sizeof(std::uint32_t);
  std::byte* block = segment.view().at(*lease);
  auto* header = new (block) BlockHeader;
  header->plan = shape.plan;
  header->window = shape.window;
  header->entries = directory.size();
  header->bytes = end;
  header->aside_bytes = end + channel->flag_bytes_;
  header->finished.store(0, std::memory_order_relaxed);
  header->given_up.store(0, std::memory_order_relaxed);
  header->departed.store(0, std::memory_order_release);
  std::uninitialized_copy(directory.begin(), directory.end(),
                          reinterpret_cast<DirectoryEntry*>(block + sizeof(BlockHeader)));
  for (std::size_t entry = 0; entry < directory.size(); ++entry)
    new (flag_place_of(block, directory.size(), entry)) FlagPlace(0);
  for (Sender& sender : channel->senders_)
    sender.slots = block + sender.offset;
  for (const Incoming& message : shape.incoming)
    (void)channel->peer_index(message.peer);
  return std::unique_ptr<Channel>(std::move(channel));
}

Status ShmChannel::connect(std::span<const std::uint64_t> announcements) {
  blocks_are_announced();
  for (std::size_t rank = 0; rank < announcements.size(); ++rank)
    if (neighbours_->views[rank] != nullptr && announcements[rank] != 0)
      (void)peer_index(static_cast<std::int32_t>(rank)); // exchanges nothing with this one, but may give the call up
  peers_.resize(peer_ranks_.size());
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const auto rank = static_cast<std::size_t>(peer_ranks_[i]);
    const View& view = *neighbours_->views[rank];
    if (announcements[rank] % line_bytes != 0 || !view.contains(announcements[rank], sizeof(BlockHeader)))
      return Error{ErrorKind::peer, fmt::format("rank {} announced a block outside its segment", rank)};
    auto* block = reinterpret_cast<BlockHeader*>(view.at(announcements[rank]));
    const std::uint64_t bytes = block->bytes;
    if (block->plan != shape_.plan || block->window != shape_.window || bytes < sizeof(BlockHeader) ||
        !view.contains(announcements[rank], bytes))
      return Error{ErrorKind::peer, fmt::format("rank {}'s block is not that of plan {}", rank, shape_.plan)};
    peers_[i].block = block;
    peers_[i].block_bytes = bytes;
    peers_[i].aside_bytes = block->aside_bytes;
  }
  for (std::size_t i = 0; i < shape_.incoming.size(); ++i) {
    const auto rank = static_cast<std::size_t>(shape_.incoming[i].peer);
    if (Status found = find_message(i, announcements[rank]); !found) return found;
  }
  connected_ = true;
  return ok();
}

/// Mapping all slots of plans for long slices took a fifth of a first call that was short.
void ShmChannel::make_ready(double share) {
  if (!connected_ || share <= ready_share_) return;
  ready_share_ = share;
  const auto add_slots = [&](PagesToPopulate& pages, const std::byte* slots, std::size_t stride, std::size_t payload,
                             std::size_t most_bytes) {
    constexpr std::size_t rounding = 16; // of a message's share of a slice
    const auto bytes = static_cast<std::size_t>(share * static_cast<double>(most_bytes)) + rounding;
    for (std::uint32_t slot = 0; slot < shape_.window; ++slot)
      pages.add(slots + stride * slot, std::min(payload + bytes, stride));
  };
  PagesToPopulate pages;
  for (std::size_t i = 0; i < senders_.size(); ++i)
    add_slots(pages, senders_[i].slots, senders_[i].stride, senders_[i].payload, shape_.outgoing[i].most_bytes);
  for (std::size_t i = 0; i < receivers_.size(); ++i)
    add_slots(pages, receivers_[i].slots, receivers_[i].stride, receivers_[i].payload, shape_.incoming[i].most_bytes);
}

Status ShmChannel::find_message(std::size_t index, std::uint64_t announced) {
  const Incoming& message = shape_.incoming[index];
  const View& view = *neighbours_->views[static_cast<std::size_t>(message.peer)];
  std::byte* block = view.at(announced);
  // Read once: what was checked must not be another's by the time it is used.
  const auto* header = reinterpret_cast<const BlockHeader*>(block);
  const std::uint64_t block_bytes = peers_[peer_index(message.peer)].block_bytes;
  const auto* entries = reinterpret_cast<const DirectoryEntry*>(block + sizeof(BlockHeader));
  const std::uint64_t most_entries = (block_bytes - sizeof(BlockHeader)) / entry_bytes;
  const std::uint64_t count = std::min<std::uint64_t>(header->entries, most_entries);
  for (std::uint64_t e = 0; e < count; ++e) {
    const DirectoryEntry entry = entries[e];
    if (entry.tag != packed(message.tag) || entry.begin != static_cast<std::uint64_t>(message.begin) ||
        entry.receiver != neighbours_->self)
      continue;
    const bool fits = entry.offset <= block_bytes && entry.offset % line_bytes == 0 &&
                      entry.stride <= (block_bytes - entry.offset) / shape_.window && entry.payload <= entry.stride &&
                      message.most_bytes <= entry.stride - entry.payload;
    if (!fits) break;
    receivers_.push_back({block + entry.offset, entry.stride, entry.payload, entry.offset});
    flag_place_of(block, count, e)->store(own_flags_aside(index), std::memory_order_release);
    return ok();
  }
  return Error{ErrorKind::peer, fmt::format("rank {} does not send message {} as it is expected", message.peer,
                                            sched::to_text(message.tag))};
}

void* ShmChannel::room(std::size_t index, std::uint64_t slice) {
  Sender& sender = senders_[index];
  if (slice >= shape_.window) {
    const std::uint64_t needed = slice - shape_.window + 1; // the slice that was in this slot, counted from 1
    for (std::uint32_t reader : sender.readers) {
      Peer& peer = peers_[reader];
      if (peer.seen_finished >= needed) continue;
      peer.seen_finished = peer.block->finished.load(std::memory_order_acquire);
      if (peer.seen_finished < needed) return nullptr;
    }
  }
  return sender.slots + sender.stride * (slice % shape_.window) + sender.payload;
}

void ShmChannel::mark_published(std::size_t index, std::uint64_t slice, std::uint64_t number, std::size_t bytes) {
  const Sender& sender = senders_[index];
  sequence(sender.slots + sender.stride * (slice % shape_.window)).store(number, std::memory_order_release);
  ++traffic_.messages;
  traffic_.bytes += bytes;
}

void ShmChannel::publish(std::size_t index, std::uint64_t slice, std::size_t bytes) {
  mark_published(index, slice, slice + 1, bytes);
}

std::size_t ShmChannel::room_aside(std::size_t index, std::uint64_t slice) {
  if (room(index, slice) == nullptr) return nowhere;
  const Sender& sender = senders_[index];
  const std::byte* slot = sender.slots + sender.stride * (slice % shape_.window);
  return static_cast<std::size_t>(slot - neighbours_->own->view().at(block_offset_));
}

void ShmChannel::publish_aside(std::size_t index, std::uint64_t slice, std::size_t bytes) {
  mark_published(index, slice, (slice + 1) | aside, bytes);
}

std::size_t ShmChannel::arrived_aside(std::size_t index, std::uint64_t slice) {
  const Receiver& receiver = receivers_[index];
  const std::size_t offset = receiver.stride * (slice % shape_.window);
  const auto& number = *reinterpret_cast<const std::atomic<std::uint64_t>*>(receiver.slots + offset);
  const bool came = (number.load(std::memory_order_acquire) & ~promised) == ((slice + 1) | aside);
  return came ? receiver.offset + offset : nowhere;
}

std::size_t ShmChannel::flags_aside(std::size_t index, std::int32_t reader) {
  const Sender& sender = senders_[index];
  const std::vector<std::int32_t>& ranks = shape_.outgoing[index].peers;
  const auto place = static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), reader) - ranks.begin());
  if (place == ranks.size() || peers_.empty()) return nowhere;
  const std::size_t entries = senders_.back().first_entry + senders_.back().readers.size();
  std::byte* const block = neighbours_->own->view().at(block_offset_);
  const std::uint64_t told = flag_place_of(block, entries, sender.first_entry + place)->load(std::memory_order_acquire);
  const Peer& peer = peers_[sender.readers[place]];
  const std::uint64_t bytes = shape_.window * sizeof(std::uint32_t);
  const bool fits = told >= peer.block_bytes && told % sizeof(std::uint32_t) == 0 && bytes <= peer.aside_bytes &&
                    told <= peer.aside_bytes - bytes;
  return fits ? told : nowhere;
}

std::size_t ShmChannel::own_flags_aside(std::size_t index) {
  return block_bytes_ + index * shape_.window * sizeof(std::uint32_t);
}

void ShmChannel::promise_aside(std::size_t index, std::uint64_t slice, std::size_t bytes) {
  mark_published(index, slice, (slice + 1) | aside | promised, bytes);
}

bool ShmChannel::is_promised_aside(std::size_t index, std::uint64_t slice) {
  const Receiver& receiver = receivers_[index];
  const std::size_t offset = receiver.stride * (slice % shape_.window);
  const auto& number = *reinterpret_cast<const std::atomic<std::uint64_t>*>(receiver.slots + offset);
  return number.load(std::memory_order_acquire) == ((slice + 1) | aside | promised);
}

bool ShmChannel::start_send(std::size_t index, std::uint64_t slice, const void* payload, std::size_t bytes) {
  void* free_slot = room(index, slice);
  if (free_slot == nullptr) return false;
  std::memcpy(free_slot, payload, bytes);
  publish(index, slice, bytes);
  return true;
}

const void* ShmChannel::arrived(std::size_t index, std::uint64_t slice) {
  const Receiver& receiver = receivers_[index];
  const std::byte* slot = receiver.slots + receiver.stride * (slice % shape_.window);
  const auto& number = *reinterpret_cast<const std::atomic<std::uint64_t>*>(slot);
  return number.load(std::memory_order_acquire) == slice + 1 ? slot + receiver.payload : nullptr;
}

void ShmChannel::finished(std::uint64_t slice) { own().finished.store(slice + 1, std::memory_order_release); }

void ShmChannel::give_up_call() {
  if (connected_) own().given_up.store(1, std::memory_order_seq_cst);
}

bool ShmChannel::is_given_up() {
  const bool given_up = std::any_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    return peer.block->given_up.load(std::memory_order_seq_cst) != 0;
  });
  if (given_up) failure_ = "a rank of the node has given up the call";
  return given_up;
}

// The owner of a block must not lease it anew before every rank that had it connected is through with it: each says
// so in the block's `departed` when it closes its own channel.
void ShmChannel::depart() {
  for (Peer& peer : peers_)
    peer.block->departed.fetch_add(1, std::memory_order_release);
  peers_.clear();
  blocks_are_left();
}

bool ShmChannel::quiescent() {
  return !connected_ || own().departed.load(std::memory_order_acquire) == peer_ranks_.size();
}

ShmChannel::~ShmChannel() {
  if (block_bytes_ > 0) neighbours_->own->give_back(block_offset_, block_bytes_);
}

} // namespace strata::transport::shm
