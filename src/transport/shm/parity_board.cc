// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/parity_board.h"

#include "transport/shm/order_by_peers.h"
#include "transport/shm/pages_to_populate.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace strata::transport::shm {

ParityBoard::ParityBoard(std::shared_ptr<const Neighbours> neighbours, std::size_t most_bytes, bool shares_core)
    : neighbours_(std::move(neighbours)), most_bytes_(most_bytes), self_(static_cast<std::size_t>(neighbours_->self)),
      shares_core_(shares_core) {}

Result<std::unique_ptr<ParityBoard>> ParityBoard::prepare(std::shared_ptr<const Neighbours> neighbours,
                                                          std::size_t most_bytes, std::size_t ring_bytes,
                                                          bool shares_core) {
  std::unique_ptr<ParityBoard> board(new ParityBoard(std::move(neighbours), most_bytes, shares_core));
  if (Status leased = board->lease_for(ring_bytes); !leased) return leased.error();
  std::byte* own = board->neighbours_->own->view().at(board->offset_);
  PagesToPopulate().add(own, board->leased_);
  new (own) std::atomic<std::uint32_t>(0);
  const std::size_t place = place_of(board->self_);
  for (std::size_t parity = 0; parity < 2; ++parity)
    for (const std::size_t number : {narrow_offset + slot_bytes * parity, place + slot_bytes * parity,
                                     place + broad_offset + broad_slot_bytes * parity})
      new (own + number) std::atomic<std::uint64_t>(0);
  new (own + place + cpu_offset) std::atomic<std::int32_t>(-1);
  return board;
}

std::size_t ParityBoard::bytes_with(std::uint64_t log_places) const {
  const std::size_t used_places = std::min(neighbours_->views.size(), different_places);
  return place_of(used_places - 1) + ring_offset + room_of_ring(log_places);
}

/// A long ring is for speed alone: many communicators are not to take room from one another, or from plans, with it.
Status ParityBoard::lease_for(std::size_t ring_bytes) {
  Segment& segment = *neighbours_->own;
  while (log_places_ < most_log_places && lines(most_bytes_) << (log_places_ + 1) <= ring_bytes)
    ++log_places_;
  if (segment.leased_bytes() + bytes_with(log_places_) > segment.view().bytes() / 8) log_places_ = fewest_log_places;
  auto lease = segment.lease(bytes_with(log_places_));
  if (!lease && log_places_ > fewest_log_places) {
    log_places_ = fewest_log_places;
    lease = segment.lease(bytes_with(log_places_));
  }
  if (!lease) return lease.error();
  offset_ = *lease;
  leased_ = bytes_with(log_places_);
  return ok();
}

Status ParityBoard::connect(std::span<const std::uint64_t> announcements) {
  blocks_are_announced();
  for (const std::uint64_t announced : announcements)
    log_places_ = std::min(log_places_, announced >> log_places_shift & log_places_mask);
  if (log_places_ < fewest_log_places) return Error{ErrorKind::peer, "a rank announced a ring that is too short"};
  const std::size_t bytes = bytes_with(log_places_);
  for (std::size_t rank = 0; rank < announcements.size(); ++rank) {
    const View& view = rank == self_ ? neighbours_->own->view() : *neighbours_->views[rank];
    const std::uint64_t offset = announcements[rank] / line_bytes * line_bytes;
    if (!view.contains(offset, bytes))
      return Error{ErrorKind::peer, fmt::format("rank {} announced slots outside its segment", rank)};
    std::byte* memory = view.at(offset);
    wide_.push_back(memory + place_of(rank));
    const bool shares_core = (announcements[rank] & shares_core_flag) != 0;
    narrow_.push_back(shares_core ? wide_.back() : memory + narrow_offset);
    if (rank != self_) PagesToPopulate().add(memory, bytes);
  }
  use_ring(ring_bytes());
  connected_ = true;
  return ok();
}

bool ParityBoard::can_demote() {
#if defined(__x86_64__)
  // Leaf 7, where there is one, has the bit; others would run the instruction as one that does nothing.
  constexpr unsigned demotes = 1U << 25;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & demotes) != 0;
#else
  return false;
#endif
}

void ParityBoard::depart() {
  for (std::size_t rank = 0; rank < wide_.size(); ++rank)
    if (rank != self_) departed(rank).fetch_add(1, std::memory_order_release);
  blocks_are_left();
}

bool ParityBoard::quiescent() const {
  return !connected_ || departed(self_).load(std::memory_order_acquire) + 1 == wide_.size();
}

ParityBoard::~ParityBoard() {
  if (leased_ > 0) neighbours_->own->give_back(offset_, leased_);
}

} // namespace strata::transport::shm
