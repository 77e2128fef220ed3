// SPDX-License-Identifier: BSD-3-Clause
// Transport through shared memory: a sender writes a message once into its own segment, and all receivers read it
// there in place. Over a heap segment it is the transport `loop`, for ranks that are threads of one process.
#pragma once

#include "transport/shm/handover.h"
#include "transport/shm/segment.h"
#include "transport/transport.h"

#include <unordered_map>

namespace strata::transport::shm {

/// What the shared-memory paths need to know of a context's ranks on this node.
struct Neighbours {
  Segment* own = nullptr;
  std::int32_t self = 0;
  std::vector<std::shared_ptr<View>> views; ///< by rank; null: not reachable here
};

class ShmLinks final : public Links {
public:
  explicit ShmLinks(Neighbours neighbours) : neighbours_(std::make_shared<const Neighbours>(std::move(neighbours))) {}
  bool reaches(std::int32_t rank) const override {
    return neighbours_->views[static_cast<std::size_t>(rank)] != nullptr;
  }
  Result<std::unique_ptr<Channel>> prepare(const ChannelShape& shape) override;
  const std::shared_ptr<const Neighbours>& neighbours() const { return neighbours_; }

private:
  std::shared_ptr<const Neighbours> neighbours_; // shared with channels that wait for their last readers
};

class ShmTransport final : public Transport {
public:
  static Result<std::unique_ptr<ShmTransport>> create(Backing backing, std::size_t most_bytes);

  const char* name() const override { return backing_ == Backing::heap ? "loop" : "shm"; }
  const std::string& address() const override { return segment_->address(); }

  /// The segment behind `address` could be mapped and proves to be the one announced. Remembers what it mapped.
  Status map(const std::string& address);

  /// Steps of a handover (handover.h) for the segments behind `addresses`, by rank: `names` are what the others offer,
  /// empty where nothing is to be asked for. What is taken stays mapped; the error is that there was no room for one.
  void ask(Handover& handover, std::span<const PeerAddress> addresses, std::span<const std::string> names);
  void answer(Handover& handover) { handover.answer(segment_->file(), Segment::nonce_of(address())); }
  Status take(Handover& handover, std::span<const PeerAddress> addresses, std::span<const std::string> names);
  /// Ends the offer, and keeps the connections to those that asked.
  void keep(std::unique_ptr<Handover> handover);

  Result<std::unique_ptr<ShmLinks>> link_neighbours(std::span<const PeerAddress> ranks, std::int32_t self,
                                                    const std::vector<bool>& members);
  Result<std::unique_ptr<Links>> link(std::span<const PeerAddress> ranks, std::int32_t self,
                                      const std::vector<bool>& members) override;

  Segment& segment() { return *segment_; }

private:
  ShmTransport(Backing backing, std::unique_ptr<Segment> segment) : backing_(backing), segment_(std::move(segment)) {}
  Result<std::shared_ptr<View>> view_of(const std::string& address);

  Backing backing_;
  std::unique_ptr<Segment> segment_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<View>> views_; ///< by address
  std::vector<std::shared_ptr<View>> handed_over_;             ///< which cannot be opened again
  std::vector<std::unique_ptr<Handover>> handovers_;
};

} // namespace strata::transport::shm
