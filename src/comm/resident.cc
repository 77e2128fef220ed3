// SPDX-License-Identifier: BSD-3-Clause
#include "comm/resident.h"

#include <algorithm>

namespace strata::comm {

/// Remembers the first failure. False when there is one.
bool Resident::keep(const Status& status) {
  if (!status && failure_.empty()) failure_ = status.error().message;
  return failure_.empty();
}

bool Resident::prepare(PeerSlots& slots, std::uint32_t window, std::size_t bounce_bytes) {
  slots_ = &slots;
  input_in_place_ = buffers_.input.is_one_piece_on_device();
  output_in_place_ = buffers_.output.is_one_piece_on_device();
  if (device_of_events_ != slots.device_number()) in_flight_.clear();
  device_of_events_ = slots.device_number();
  while (in_flight_.size() < window) {
    auto event = device_.driver().make_event(device_of_events_);
    if (!keep(event ? ok() : event.error())) return true;
    in_flight_.push_back({0, 0, 0, std::move(*event)});
  }
  // A call that has one block can go on; more of them let messages and steps overlap.
  while (blocks_.size() < window) {
    device::BounceBlock memory;
    if (bounce_bytes > 0)
      memory = blocks_.empty() ? device_.bounces().lease(bounce_bytes) : device_.bounces().lease_pinned(bounce_bytes);
    if (bounce_bytes > 0 && memory.begin == nullptr) break;
    blocks_.push_back({memory, false});
  }
  return !blocks_.empty();
}

void Resident::finish() {
  // When the call was given up, work may still be under way.
  if (std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.in_use; }))
    (void)slots_->stream().synchronise(); // nobody needs what it does
  for (const Block& block : blocks_)
    if (block.memory.begin != nullptr) device_.bounces().give_back(block.memory);
  blocks_.clear();
}

bool Resident::begin(std::uint32_t index, std::size_t first, std::size_t bytes, Room& room) {
  const auto free = std::find_if(blocks_.begin(), blocks_.end(), [](const Block& block) { return !block.in_use; });
  if (free == blocks_.end() || !failure_.empty()) return false;
  Slot& slot = in_flight_[index];
  slot.first = first;
  slot.bytes = bytes;
  slot.block = static_cast<std::size_t>(free - blocks_.begin());
  free->in_use = true;
  // Input and output share the stand-in, as they share memory in a call in place.
  std::byte* const stand_in = slots_->vector_of(index);
  if (!input_in_place_ && !keep(buffers_.input.copy_out(slots_->stream(), first, bytes, stand_in))) return false;
  room.input = input_in_place_ ? buffers_.input_begin + first : stand_in;
  room.output = output_in_place_ ? buffers_.output_begin + first : stand_in;
  room.scratch = slots_->scratch_of(index);
  room.bounce = free->memory.begin;
  return true;
}

void Resident::deliver(std::uint32_t index) {
  const Slot& slot = in_flight_[index];
  if (output_in_place_) return;
  if (keep(buffers_.output.copy_in(slots_->stream(), slot.first, slot.bytes, slots_->vector_of(index))))
    (void)keep(slots_->stream().record(*slot.emptied)); // kept
}

bool Resident::delivered(std::uint32_t index) {
  const Slot& slot = in_flight_[index];
  if (!failure_.empty()) return false;
  if (!output_in_place_) {
    const auto reached = slot.emptied->reached();
    if (!keep(reached ? ok() : reached.error()) || !*reached) return false;
  }
  blocks_[slot.block].in_use = false;
  return true;
}

} // namespace strata::comm
