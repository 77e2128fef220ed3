// SPDX-License-Identifier: BSD-3-Clause
// Running a Plan: slices in flight, each a set of steps that become active when what they depend on is complete.
//
// Older slices are served first: their later stages must not queue behind the first stages of younger slices.
#include "engine/plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::engine {

using sched::Kind;

void Plan::submit(Request& request) {
  const auto element_bytes = static_cast<std::int64_t>(request.reducer.element_bytes);
  const std::int64_t most = std::max<std::int64_t>(1, static_cast<std::int64_t>(shape_.slice_bytes) / element_bytes);
  request.slices = (request.elements + most - 1) / most;
  request.slice_elements = request.slices == 0 ? 0 : (request.elements + request.slices - 1) / request.slices;
  request.started_slices = 0;
  request.finished_slices = 0;
  request.on_device = request.memory != nullptr && request.memory->on_device();
  if (request.slices == 0) return;
  requests_.push_back(&request);
  for (auto& channel : channels_)
    if (channel) channel->begin_call();
}

// Slices of at most two lengths belong to a request, so three are enough for one request after the other; with more
// requests in flight, a slice may have to wait until a geometry is free. Null then.
const Plan::Geometry* Plan::geometry(std::int64_t elements) {
  for (const Geometry& known : geometries_)
    if (known.elements == elements) return &known;
  const auto in_use = [&](const Geometry& candidate) {
    return std::any_of(slices_.begin(), slices_.end(),
                       [&](const Slice& slice) { return slice.open_steps > 0 && slice.geometry == &candidate; });
  };
  for (std::size_t tries = 0; tries < std::size(geometries_); ++tries) {
    Geometry& candidate = geometries_[next_geometry_];
    next_geometry_ = (next_geometry_ + 1) % std::size(geometries_);
    if (in_use(candidate)) continue;
    measure(candidate, elements);
    return &candidate;
  }
  return nullptr;
}

void Plan::measure(Geometry& geometry, std::int64_t elements) const {
  geometry.elements = elements;
  geometry.sent_by_level.fill({0, 0});
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const BoundStep& step = steps_[s];
    const std::int64_t begin = sched::element_at(step.range.begin, elements);
    const std::int64_t end = sched::element_at(step.range.end, elements);
    geometry.ranges[s] = {begin, end};
    if (step.kind != Kind::send || begin == end) continue;
    geometry.sent_by_level[step.level].first += step.receivers;
    geometry.sent_by_level[step.level].second += (end - begin) * step.receivers;
  }
}

bool Plan::start_slice(Request& request) {
  const std::int64_t first = request.started_slices * request.slice_elements;
  const Geometry* geometry_found = geometry(std::min(request.slice_elements, request.elements - first));
  if (geometry_found == nullptr) return false;
  const auto slot = static_cast<std::uint32_t>(next_slice_ % shape_.window);
  Slice& slice = slices_[slot];
  const auto first_byte = static_cast<std::size_t>(first) * request.reducer.element_bytes;
  if (request.memory == nullptr)
    slice.room = {request.input + first_byte, request.output + first_byte};
  else if (!request.memory->begin(slot, first_byte,
                                  static_cast<std::size_t>(geometry_found->elements) * request.reducer.element_bytes,
                                  slice.room))
    return false;
  slice.stage = request.memory == nullptr ? Stage::running : Stage::fetching;
  slice.number = next_slice_++;
  slice.request = &request;
  slice.geometry = geometry_found;
  slice.place = request.started_slices++;
  slice.open_steps = static_cast<std::uint32_t>(steps_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s)
    slice.waiting_for[s] = steps_[s].dependencies;
  std::fill(slice.reached.begin(), slice.reached.end(), 0U);
  if (device_) begin_beside_device(slice);
  slice.active.assign(roots_.begin(), roots_.end());
  for (std::size_t level = 0; level < most_levels; ++level) {
    const auto [messages, elements] = geometry_found->sent_by_level[level];
    level_traffic_[level].messages += static_cast<std::uint64_t>(messages);
    level_traffic_[level].bytes += static_cast<std::uint64_t>(elements) * request.reducer.element_bytes;
  }
  return true;
}

bool Plan::start_slices() {
  bool started = false;
  for (Request* request : requests_) {
    while (request->started_slices < request->slices && next_slice_ - oldest_slice_ < shape_.window) {
      if (!start_slice(*request)) return started;
      started = true;
    }
    if (request->started_slices < request->slices) break;
  }
  return started;
}

std::byte* Plan::address(sched::Place place, const Slice& slice, std::int64_t element) const {
  const auto element_bytes = static_cast<std::int64_t>(slice.request->reducer.element_bytes);
  if (place.buffer == sched::Buffer::scratch) {
    const std::size_t region = (slice.number % shape_.window) * scratch_regions_ + place.region;
    return scratch_.data() + region * scratch_region_bytes_ + element * element_bytes;
  }
  const std::int64_t offset = element * element_bytes;
  if (place.buffer == sched::Buffer::output) return slice.room.output + offset;
  return const_cast<std::byte*>(slice.room.input) + offset; // steps never write input
}

bool Plan::start(const Port& port, const Slice& slice, const void* payload, std::size_t bytes) const {
  if (!port.shares_memory) return port.channel->start_send(port.index, slice.number, payload, bytes);
  void* room = port.channel->room(port.index, slice.number);
  if (room == nullptr) return false;
  const kernel::Store publish = bytes >= least_streamed ? slice.request->stores.publish : kernel::Store::cached;
  copy_(room, payload, bytes, kernel::store_to_publish(publish));
  port.channel->publish(port.index, slice.number, bytes);
  return true;
}

/// A message that has come; null while it has not, and for one that is too short, because the peer passed other
/// arguments. What shares memory has room for the longest message, and does not know how long one is.
const void* Plan::payload(const Port& port, const Slice& slice, std::size_t bytes) {
  const void* const from = port.channel->arrived(port.index, slice.number);
  if (from == nullptr || port.shares_memory) return from;
  const std::size_t came = port.channel->arrived_bytes(port.index, slice.number);
  if (came == 0 || came >= bytes) return from;
  port.channel->refuse(port.index, slice.number, bytes);
  return nullptr;
}

bool Plan::attempt_send(const BoundStep& step, std::uint32_t index, Slice& slice) {
  const auto [begin, end] = slice.geometry->ranges[index];
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  std::uint32_t& started = slice.reached[index];
  for (; started < step.ports.size(); ++started) {
    if (!start(step.ports[started], slice, address(step.place, slice, begin), bytes)) return false;
  }
  return std::all_of(step.ports.begin(), step.ports.end(), [&](const Port& port) {
    return port.shares_memory || port.channel->sent(port.index, slice.number);
  });
}

bool Plan::attempt_recv(const BoundStep& step, std::uint32_t index, Slice& slice) {
  const Source& source = step.sources[0];
  const auto [begin, end] = slice.geometry->ranges[index];
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  const void* from =
      source.port.channel != nullptr ? payload(source.port, slice, bytes) : address(source.place, slice, begin);
  if (from == nullptr) return false;
  void* to = address(step.place, slice, begin);
  if (to != from) copy_(to, from, bytes, step.final_write ? slice.request->stores.result : kernel::Store::cached);
  if (source.port.channel != nullptr) source.port.channel->release(source.port.index, slice.number);
  return true;
}

bool Plan::attempt_reduce(const BoundStep& step, std::uint32_t index, Slice& slice) {
  const auto [begin, end] = slice.geometry->ranges[index];
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  std::uint32_t& arrived = slice.reached[index];
  for (; arrived < step.sources.size(); ++arrived) {
    const Port& port = step.sources[arrived].port;
    if (port.channel != nullptr && payload(port, slice, bytes) == nullptr) return false;
  }
  for (std::size_t i = 0; i < step.sources.size(); ++i) {
    const Source& source = step.sources[i];
    operands_[i] = source.port.channel != nullptr ? source.port.channel->arrived(source.port.index, slice.number)
                                                  : address(source.place, slice, begin);
  }
  run_reducer(step, index, slice);
  return true;
}

/// On operands_, all of which are there.
void Plan::run_reducer(const BoundStep& step, std::uint32_t index, Slice& slice) {
  const auto [begin, end] = slice.geometry->ranges[index];
  const kernel::Reducer& reducer = slice.request->reducer;
  reducer.function(address(step.place, slice, begin), operands_.data(), step.sources.size(),
                   static_cast<std::size_t>(end - begin),
                   step.final_write ? slice.request->stores.result : kernel::Store::cached, nullptr);
  for (const Source& source : step.sources)
    if (source.port.channel != nullptr) source.port.channel->release(source.port.index, slice.number);
}

bool Plan::attempt(const BoundStep& step, std::uint32_t index, Slice& slice) {
  const auto [begin, end] = slice.geometry->ranges[index];
  if (begin == end) return true; // both sides know that there is nothing to say
  if (device_) [[unlikely]]
    return attempt_beside_device(step, index, slice);
  switch (step.kind) {
  case Kind::send:
    return attempt_send(step, index, slice);
  case Kind::recv:
  case Kind::copy:
    return attempt_recv(step, index, slice);
  case Kind::reduce:
    return attempt_reduce(step, index, slice);
  }
  return false;
}

/// Whether it came further.
template <Plan::Steps steps>
bool Plan::advance_stage(Slice& slice) {
  SliceMemory* const memory = slice.request->memory;
  const auto slot = static_cast<std::uint32_t>(slice.number % shape_.window);
  bool moved = false;
  if (slice.stage == Stage::fetching) {
    if (!memory->fetched(slot)) return false;
    slice.stage = Stage::running;
    moved = true;
  }
  if (slice.stage == Stage::running) {
    moved |= run_steps<steps>(slice);
    if (slice.open_steps > 0) return moved;
    slice.stage = memory == nullptr ? Stage::finished : Stage::delivering;
    if (memory != nullptr) memory->deliver(slot);
    return true;
  }
  if (slice.stage != Stage::delivering || !memory->delivered(slot)) return moved;
  slice.stage = Stage::finished;
  return true;
}

template <Plan::Steps steps>
bool Plan::run_steps(Slice& slice) {
  bool moved = false;
  for (std::size_t i = 0; i < slice.active.size();) {
    const std::uint32_t index = slice.active[i];
    const BoundStep& step = steps_[index];
    const bool complete = steps == Steps::recorded ? attempt_recorded(step, index, slice) : attempt(step, index, slice);
    if (!complete) {
      ++i;
      continue;
    }
    moved = true;
    slice.active.erase(slice.active.begin() + static_cast<std::ptrdiff_t>(i));
    --slice.open_steps;
    for (std::uint32_t successor : step.successors)
      if (--slice.waiting_for[successor] == 0) slice.active.push_back(successor); // reached later in this very loop
  }
  return moved;
}

void Plan::retire() {
  while (oldest_slice_ < next_slice_) {
    Slice& slice = slices_[oldest_slice_ % shape_.window];
    if (slice.stage != Stage::finished) return;
    for (auto& channel : channels_)
      if (channel) channel->finished(oldest_slice_);
    ++oldest_slice_;
    ++slice.request->finished_slices;
    if (slice.request->complete() && requests_.front() == slice.request) requests_.erase(requests_.begin());
  }
}

template <Plan::Steps steps>
bool Plan::advance_as() {
  bool moved = start_slices();
  if (device_) moved |= settle_device();
  for (std::uint64_t number = oldest_slice_; number < next_slice_; ++number) {
    Slice& slice = slices_[number % shape_.window];
    if (slice.stage != Stage::finished) moved |= advance_stage<steps>(slice);
  }
  if (moved) retire();
  for (auto& channel : channels_)
    if (channel) moved |= channel->progress();
  return moved;
}
template bool Plan::advance_as<Plan::Steps::recorded>();

bool Plan::advance() { return advance_as<Steps::unrecorded>(); }

std::vector<std::int32_t> Plan::awaited(std::string& step) const {
  std::vector<std::int32_t> ranks;
  if (oldest_slice_ == next_slice_) return ranks;
  const Slice& slice = slices_[oldest_slice_ % shape_.window];
  for (const std::uint32_t index : slice.active) {
    const BoundStep& active = steps_[index];
    const auto [begin, end] = slice.geometry->ranges[index];
    if (begin == end) continue;
    for (const Source& source : active.sources)
      if (source.port.channel != nullptr && !has_arrived(source, slice, 0)) ranks.push_back(source.port.peer);
    if (step.empty() && !active.sources.empty())
      step = fmt::format("slice {}, step {} of {}: {} at level {}", slice.number, index + 1, steps_.size(),
                         active.kind == Kind::reduce ? "reduce" : "receive", active.level);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

bool Plan::flushed() {
  bool all = true;
  for (auto& channel : channels_)
    if (channel && !channel->flushed()) {
      (void)channel->progress();
      all = false;
    }
  return all;
}

} // namespace strata::engine
