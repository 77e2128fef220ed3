// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/shm_transport.h"

#include "transport/shm/shm_channel.h"

#include <algorithm>

namespace strata::transport::shm {

Result<std::unique_ptr<ShmTransport>> ShmTransport::create(Backing backing, std::size_t most_bytes) {
  auto segment = Segment::create(backing, most_bytes);
  if (!segment) return segment.error();
  return std::unique_ptr<ShmTransport>(new ShmTransport(backing, std::move(*segment)));
}

Result<std::shared_ptr<View>> ShmTransport::view_of(const std::string& address) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<View>& known = views_[address];
  if (auto view = known.lock()) return view;
  auto view = Segment::map(address);
  if (view) known = *view;
  return view;
}

Status ShmTransport::map(const std::string& address) {
  if (address.empty()) return Error{ErrorKind::unsupported, "there is no segment"};
  const auto view = view_of(address);
  return view ? ok() : Status(view.error());
}

void ShmTransport::ask(Handover& handover, std::span<const PeerAddress> addresses, std::span<const std::string> names) {
  for (std::size_t rank = 0; rank < names.size(); ++rank)
    if (!names[rank].empty()) handover.ask(names[rank], Segment::nonce_of(addresses[rank].address));
}

Status ShmTransport::take(Handover& handover, std::span<const PeerAddress> addresses,
                          std::span<const std::string> names) {
  Status room = ok();
  const std::lock_guard lock(mutex_);
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    if (names[rank].empty()) continue;
    const std::string& address = addresses[rank].address;
    Handover::Taken taken = handover.take(Segment::nonce_of(address));
    const auto view = Segment::map_handed(address, taken.file, std::move(taken.connection));
    if (!view) {
      if (view.error().kind == ErrorKind::resource) room = view.error();
      continue;
    }
    views_[address] = *view;
    handed_over_.push_back(*view);
  }
  return room;
}

void ShmTransport::keep(std::unique_ptr<Handover> handover) {
  handover->end_offer();
  const std::lock_guard lock(mutex_);
  // Ranks that can never map what they are handed ask again on each communicator.
  const auto has_ended = [](const auto& kept) { return !kept->has_answered(); };
  handovers_.erase(std::remove_if(handovers_.begin(), handovers_.end(), has_ended), handovers_.end());
  if (handover->has_answered()) handovers_.push_back(std::move(handover));
}

Result<std::unique_ptr<ShmLinks>> ShmTransport::link_neighbours(std::span<const PeerAddress> ranks, std::int32_t self,
                                                                const std::vector<bool>& members) {
  Neighbours neighbours;
  neighbours.own = segment_.get();
  neighbours.self = self;
  neighbours.views.resize(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!members[rank] || static_cast<std::int32_t>(rank) == self) continue;
    auto view = view_of(ranks[rank].address);
    if (!view) return view.error();
    neighbours.views[rank] = std::move(*view);
  }
  return std::make_unique<ShmLinks>(std::move(neighbours));
}

Result<std::unique_ptr<Links>> ShmTransport::link(std::span<const PeerAddress> ranks, std::int32_t self,
                                                  const std::vector<bool>& members) {
  auto links = link_neighbours(ranks, self, members);
  if (!links) return links.error();
  return std::unique_ptr<Links>(std::move(*links));
}

Result<std::unique_ptr<Channel>> ShmLinks::prepare(const ChannelShape& shape) {
  return ShmChannel::prepare(neighbours_, shape);
}

} // namespace strata::transport::shm
