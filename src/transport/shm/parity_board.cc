// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/parity_board.h"

#include "transport/shm/order_by_peers.h"

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
                                                          std::size_t most_bytes, bool shares_core) {
  std::unique_ptr<ParityBoard> board(new ParityBoard(std::move(neighbours), most_bytes, shares_core));
  const std::size_t used_places = std::min(board->neighbours_->views.size(), different_places);
  const std::size_t bytes = place_of(used_places - 1) + ring_offset + places * lines(most_bytes);
  auto lease = board->neighbours_->own->lease(bytes);
  if (!lease) return lease.error();
  board->offset_ = *lease;
  board->leased_ = bytes;
  std::byte* own = board->neighbours_->own->view().at(*lease);
  populate(own, bytes);
  new (own) std::atomic<std::uint32_t>(0);
  const std::size_t place = place_of(board->self_);
  for (std::size_t parity = 0; parity < 2; ++parity)
    for (const std::size_t number :
         {narrow_offset + slot_bytes * parity, place + slot_bytes * parity, place + rests_offset + line_bytes * parity})
      new (own + number) std::atomic<std::uint64_t>(0);
  new (own + place + cpu_offset) std::atomic<std::int32_t>(-1);
  return board;
}

Status ParityBoard::connect(std::span<const std::uint64_t> announcements) {
  blocks_are_announced();
  for (std::size_t rank = 0; rank < announcements.size(); ++rank) {
    const View& view = rank == self_ ? neighbours_->own->view() : *neighbours_->views[rank];
    const std::uint64_t offset = announcements[rank] & ~shares_core_flag;
    if (offset % line_bytes != 0 || !view.contains(offset, leased_))
      return Error{ErrorKind::peer,
                   fmt::format("rank {} announced slots outside its segment, or not at the begin of a line", rank)};
    std::byte* memory = view.at(offset);
    wide_.push_back(memory + place_of(rank));
    const bool shares_core = (announcements[rank] & shares_core_flag) != 0;
    narrow_.push_back(shares_core ? wide_.back() : memory + narrow_offset);
    if (rank != self_) populate(memory, leased_);
  }
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
