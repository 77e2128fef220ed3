// SPDX-License-Identifier: BSD-3-Clause
#include "comm/staging.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::comm {

Staging::~Staging() { finish(); }

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
  if (!blocks_.take(slots, slice_bytes))
    return Error{ErrorKind::resource,
                 fmt::format("no {} bytes of host memory for a buffer in device memory to pass through", slice_bytes)};
  device_.count_call(DevicePath::staged);
  return ok();
}

void Staging::finish() {
  // When the call was given up, copies may still be under way.
  if (blocks_.any_in_use())
    for (const Lanes* lanes : {&out_lanes_, &in_lanes_})
      for (const auto& lane : *lanes)
        (void)lane->stream->synchronise(); // nobody needs what they copy
  blocks_.give_back();
}

bool Staging::mark(Lane& lane, std::uint32_t slot) { return failure_.keep(lane.stream->record(*lane.events[slot])); }

bool Staging::passed(Lane& lane, std::uint32_t slot) {
  if (!failure_.why().empty()) return false;
  const auto reached = lane.events[slot]->reached();
  if (reached) return *reached;
  return failure_.keep(reached.error());
}

bool Staging::begin(std::uint32_t index, std::size_t first, std::size_t bytes, Room& room) {
  const std::size_t block = failure_.why().empty() ? blocks_.use() : CallBlocks::none;
  if (block == CallBlocks::none) return false;
  slots_[index] = {first, bytes, block};
  std::byte* const bounce = blocks_.begin(block);
  if (out_ != nullptr &&
      !(failure_.keep(buffers_.input.copy_out(*out_->stream, first, bytes, bounce)) && mark(*out_, index)))
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
  if (failure_.keep(buffers_.output.copy_in(*in_->stream, slot.first, slot.bytes, blocks_.begin(slot.block))))
    (void)mark(*in_, index); // kept
}

bool Staging::delivered(std::uint32_t index) {
  if (in_ != nullptr) {
    if (!passed(*in_, index)) return false;
    device_.count_bytes(DevicePath::staged, slots_[index].bytes);
  }
  blocks_.release(slots_[index].block);
  return true;
}

} // namespace strata::comm
