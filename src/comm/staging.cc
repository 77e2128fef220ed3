// SPDX-License-Identifier: BSD-3-Clause
#include "comm/staging.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::comm {

Staging::~Staging() { finish(); }

Result<Staging::Lane*> Staging::open_lane(Lanes& lanes, std::int32_t device, std::uint32_t slots) {
  auto found =
      std::find_if(lanes.known.begin(), lanes.known.end(), [&](const auto& lane) { return lane->device == device; });
  if (found == lanes.known.end()) {
    auto stream = device_.driver().make_stream(device);
    if (!stream) return stream.error();
    found = lanes.known.insert(found, std::make_unique<Lane>(Lane{device, std::move(*stream), {}}));
  }
  Lane& lane = **found;
  while (lane.events.size() < slots) {
    auto event = device_.driver().make_event(device);
    if (!event) return event.error();
    lane.events.push_back(std::move(*event));
  }
  return &lane;
}

Status Staging::open_lanes(Lanes& lanes, const device::Vector& vector, std::uint32_t slots) {
  lanes.open.clear();
  lanes.streams.clear();
  for (const std::int32_t device : vector.devices()) {
    const auto lane = open_lane(lanes, device, slots);
    if (!lane) return lane.error();
    lanes.open.push_back(*lane);
    lanes.streams.push_back({device, (*lane)->stream.get()});
  }
  return ok();
}

Status Staging::prepare(std::uint32_t slots, std::size_t slice_bytes) {
  if (const Status opened = open_lanes(out_, buffers_.input, slots); !opened) return opened;
  if (const Status opened = open_lanes(in_, buffers_.output, slots); !opened) return opened;
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
    for (const Lanes* lanes : {&out_, &in_})
      for (const auto& lane : lanes->known)
        (void)lane->stream->synchronise(); // nobody needs what they copy
  blocks_.give_back();
}

bool Staging::mark(const Lanes& lanes, std::uint32_t slot) {
  return std::all_of(lanes.open.begin(), lanes.open.end(),
                     [&](Lane* lane) { return failure_.keep(lane->stream->record(*lane->events[slot])); });
}

bool Staging::passed(const Lanes& lanes, std::uint32_t slot) {
  if (!failure_.why().empty()) return false;
  for (Lane* const lane : lanes.open) {
    const auto reached = lane->events[slot]->reached();
    if (!reached) return failure_.keep(reached.error());
    if (!*reached) return false;
  }
  return true;
}

bool Staging::begin(std::uint32_t index, std::size_t first, std::size_t bytes, Room& room) {
  const std::size_t block = failure_.why().empty() ? blocks_.use() : CallBlocks::none;
  if (block == CallBlocks::none) return false;
  slots_[index] = {first, bytes, block};
  std::byte* const bounce = blocks_.begin(block);
  const bool goes_out = buffers_.input.on_device();
  if (goes_out && !(failure_.keep(buffers_.input.copy_out(out_.streams, first, bytes, bounce)) && mark(out_, index)))
    return false;
  // Input and output share the block, as they share memory in a call in place.
  room.input = goes_out ? bounce : buffers_.input_begin + first;
  room.output = buffers_.output.on_device() ? bounce : buffers_.output_begin + first;
  return true;
}

bool Staging::fetched(std::uint32_t index) {
  if (!buffers_.input.on_device()) return true;
  if (!passed(out_, index)) return false;
  device_.count_bytes(DevicePath::staged, slots_[index].bytes);
  return true;
}

void Staging::deliver(std::uint32_t index) {
  if (!buffers_.output.on_device()) return;
  const Slot& slot = slots_[index];
  if (failure_.keep(buffers_.output.copy_in(in_.streams, slot.first, slot.bytes, blocks_.begin(slot.block))))
    (void)mark(in_, index); // kept
}

bool Staging::delivered(std::uint32_t index) {
  if (buffers_.output.on_device()) {
    if (!passed(in_, index)) return false;
    device_.count_bytes(DevicePath::staged, slots_[index].bytes);
  }
  blocks_.release(slots_[index].block);
  return true;
}

} // namespace strata::comm
