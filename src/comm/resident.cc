// SPDX-License-Identifier: BSD-3-Clause
#include "comm/resident.h"

namespace strata::comm {

bool Resident::prepare(PeerSlots& slots, std::uint32_t window, std::size_t bounce_bytes) {
  slots_ = &slots;
  queue_ = {slots.device_number(), &slots.stream()};
  input_in_place_ = buffers_.input.is_one_piece_on_device();
  output_in_place_ = buffers_.output.is_one_piece_on_device();
  if (device_of_events_ != slots.device_number()) in_flight_.clear();
  device_of_events_ = slots.device_number();
  while (in_flight_.size() < window) {
    auto event = device_.driver().make_event(device_of_events_);
    if (!failure_.keep(event ? ok() : event.error())) return true;
    in_flight_.push_back({0, 0, 0, std::move(*event)});
  }
  return blocks_.take(window, bounce_bytes);
}

void Resident::finish() {
  // When the call was given up, work may still be under way.
  if (blocks_.any_in_use()) slots_->finish(); // nobody needs what it does
  blocks_.give_back();
}

bool Resident::begin(std::uint32_t index, std::size_t first, std::size_t bytes, Room& room) {
  const std::size_t block = failure_.why().empty() ? blocks_.use() : CallBlocks::none;
  if (block == CallBlocks::none) return false;
  Slot& slot = in_flight_[index];
  slot.first = first;
  slot.bytes = bytes;
  slot.block = block;
  // Input and output share the stand-in, as they share memory in a call in place.
  std::byte* const stand_in = slots_->vector_of(index);
  if (!input_in_place_ && !failure_.keep(buffers_.input.copy_out(queue(), first, bytes, stand_in))) return false;
  room.input = input_in_place_ ? buffers_.input_begin + first : stand_in;
  room.output = output_in_place_ ? buffers_.output_begin + first : stand_in;
  room.scratch = slots_->scratch_of(index);
  room.landing = slots_->landing_of(index);
  room.bounce = blocks_.begin(block);
  return true;
}

void Resident::deliver(std::uint32_t index) {
  const Slot& slot = in_flight_[index];
  if (output_in_place_) return;
  if (failure_.keep(buffers_.output.copy_in(queue(), slot.first, slot.bytes, slots_->vector_of(index))))
    (void)failure_.keep(slots_->stream().record(*slot.emptied)); // kept
}

bool Resident::delivered(std::uint32_t index) {
  const Slot& slot = in_flight_[index];
  if (!failure_.why().empty()) return false;
  if (!output_in_place_) {
    const auto reached = slot.emptied->reached();
    if (!failure_.keep(reached ? ok() : reached.error()) || !*reached) return false;
  }
  blocks_.release(slot.block);
  return true;
}

} // namespace strata::comm
