// SPDX-License-Identifier: BSD-3-Clause
#include "comm/staging.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::comm {

Staging::~Staging() { finish(); }

/// Remembers the first failure. False when there is one.
bool Staging::keep(const Status& status) {
  if (!status && failure_.empty()) failure_ = status.error().message;
  return failure_.empty();
}

/// Null for no device.
Result<Staging::Lane*> Staging::open_lane(Lanes& lanes, std::int32_t device, std::uint32_t slots) {
  if (device < 0) return static_cast<Lane*>(nullptr);
  auto found = std::find_if(lanes.begin(), lanes.end(), [&](const auto& lane) { return lane->device == device; });
  if (found == lanes.end()) {
    auto stream = device_.driver().make_stream(device);
    if (!stream) return stream.error();
    found = lanes.insert(found, std::make_unique<Lane>(Lane{device, std::move(*stream), {}}));
  }
  Lane& lane = **found;
  while (lane.events.size() < slots) {
    auto event = device_.driver().make_event(device);
    if (!event) return event.error();
    lane.events.push_back(std::move(*event));
  }
  return &lane;
}

Status Staging::prepare(std::uint32_t slots, std::size_t slice_bytes) {
  const auto out = open_lane(out_lanes_, buffers_.input.device(), slots);
  if (!out) return out.error();
  const auto in = open_lane(in_lanes_, buffers_.output.device(), slots);
  if (!in) return in.error();
  out_ = *out;
  in_ = *in;
  if (slots_.size() < slots) slots_.resize(slots);
  // A call that has one block can go on; more of them let copies and steps overlap.
  while (blocks_.size() < slots) {
    const auto memory =
        blocks_.empty() ? device_.bounces().lease(slice_bytes) : device_.bounces().lease_pinned(slice_bytes);
    if (memory.begin == nullptr) break;
    blocks_.push_back({memory, false});
  }
  if (blocks_.empty())
    return Error{ErrorKind::resource,
                 fmt::format("no {} bytes of host memory for a buffer in device memory to pass through", slice_bytes)};
  device_.count_call(DevicePath::staged);
  return ok();
}

void Staging::finish() {
  // When the call was given up, copies may still be under way.
  if (std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.in_use; }))
    for (const Lanes* lanes : {&out_lanes_, &in_lanes_})
      for (const auto& lane : *lanes)
        (void)lane->stream->synchronise(); // nobody needs what they copy
  for (const Block& block : blocks_)
    device_.bounces().give_back(block.memory);
  blocks_.clear();
}

bool Staging::mark(Lane& lane, std::uint32_t slot) { return keep(lane.stream->record(*lane.events[slot])); }

bool Staging::passed(Lane& lane, std::uint32_t slot) {
  if (!failure_.empty()) return false;
  const auto reached = lane.events[slot]->reached();
  if (reached) return *reached;
  return keep(reached.error());
}

bool Staging::begin(std::uint32_t index, std::size_t first, std::size_t bytes, Room& room) {
  const auto free = std::find_if(blocks_.begin(), blocks_.end(), [](const Block& block) { return !block.in_use; });
  if (free == blocks_.end() || !failure_.empty()) return false;
  Slot& slot = slots_[index];
  slot.first = first;
  slot.bytes = bytes;
  slot.block = static_cast<std::size_t>(free - blocks_.begin());
  std::byte* const bounce = free->memory.begin;
  free->in_use = true;
  if (out_ != nullptr && !(keep(buffers_.input.copy_out(*out_->stream, first, bytes, bounce)) && mark(*out_, index)))
    return false;
  // Input and output share the block, as they share memory in a call in place.
  room.input = out_ != nullptr ? bounce : buffers_.input_begin + first;
  room.output = in_ != nullptr ? bounce : buffers_.output_begin + first;
  return true;
}

bool Staging::fetched(std::uint32_t index) {
  if (out_ == nullptr) return true;
  if (!passed(*out_, index)) return false;
  device_.count_bytes(DevicePath::staged, slots_[index].bytes);
  return true;
}

void Staging::deliver(std::uint32_t index) {
  if (in_ == nullptr) return;
  const Slot& slot = slots_[index];
  if (keep(buffers_.output.copy_in(*in_->stream, slot.first, slot.bytes, blocks_[slot.block].memory.begin)))
    (void)mark(*in_, index); // kept
}

bool Staging::delivered(std::uint32_t index) {
  if (in_ != nullptr) {
    if (!passed(*in_, index)) return false;
    device_.count_bytes(DevicePath::staged, slots_[index].bytes);
  }
  blocks_[slots_[index].block].in_use = false;
  return true;
}

} // namespace strata::comm
