// SPDX-License-Identifier: BSD-3-Clause
// The steps of a Plan beside a device, as device_side.h tells.
#include "engine/device_side.h"

#include <algorithm>

namespace strata::engine {

// ---- slices on the device -----------------------------------------------------------------------------------------

std::byte* Plan::device_address(sched::Place place, const Slice& slice, std::int64_t element) const {
  if (place.buffer != sched::Buffer::scratch) return address(place, slice, element);
  const auto offset = static_cast<std::size_t>(element) * slice.request->reducer.element_bytes;
  return slice.room.scratch + place.region * scratch_region_bytes_ + offset;
}

bool Plan::attempt_send_on_device(const BoundStep& step, std::uint32_t index, Slice& slice) {
  const DeviceSide::Outgoing& send = device_->steps[index].send;
  switch (device_->phase(slice.number % shape_.window, index)) {
  case DeviceSide::Phase::fresh:
    if (!put_payload(step, index, slice)) return false;
    if (send.bounce != DeviceSide::none) return false;
    ++slice.open_steps; // until it is settled
    slice.reached[index] = static_cast<std::uint32_t>(step.ports.size());
    return true;
  case DeviceSide::Phase::waiting:
  case DeviceSide::Phase::there:
  case DeviceSide::Phase::queued:
    return false;
  case DeviceSide::Phase::passed:
    return post_bounced(step, index, slice);
  }
  return false;
}

bool Plan::put_payload(const BoundStep& step, std::uint32_t index, Slice& slice) {
  if (device_->full()) return false;
  const auto [begin, end] = slice.geometry->ranges[index];
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  const std::byte* payload = device_address(step.place, slice, begin);
  const auto slot = static_cast<std::uint32_t>(slice.number % shape_.window);
  const DeviceSide::Outgoing& send = device_->steps[index].send;
  const bool bounces = send.bounces(bytes);
  if ((send.aside || !bounces) && !device_->queue.await_copies(slot)) return false;
  for (const Port& port : step.ports) {
    if (!port.shares_memory || !send.aside) continue;
    const std::size_t room = port.channel->room_aside(port.index, slice.number);
    if (room == transport::Channel::nowhere || !device_->queue.put_aside(room, payload, bytes)) return false;
  }
  if (send.is_promised(slice.number) && !set_flags(index, slice)) return false;
  if (bounces) {
    if (!device_->queue.copy_to_host(slot, slice.room.bounce + send.bounce, payload, bytes)) return false;
    device_->queue.count_bounced(bytes);
  }
  const auto by = bounces ? DeviceSide::By::copies_to_host : DeviceSide::By::queue;
  if (!queue_step(index, slice, DeviceSide::Phase::queued, by)) return false;
  if (!send.is_promised(slice.number)) return true;
  for (const Port& port : step.ports)
    if (port.shares_memory) port.channel->promise_aside(port.index, slice.number, bytes);
  return true;
}

bool Plan::set_flags(std::uint32_t index, const Slice& slice) const {
  const std::size_t place = slice.number % shape_.window * sizeof(std::uint32_t);
  const std::vector<std::byte*>& flags = device_->steps[index].send.flags;
  return std::all_of(flags.begin(), flags.end(), [&](std::byte* flag) {
    return device_->queue.set_flag(flag + place, transport::Channel::flag_value(slice.number));
  });
}

bool Plan::is_promised(const Source& source, const Slice& slice) {
  return source.port.channel != nullptr && source.port.channel->is_promised_aside(source.port.index, slice.number);
}

/// Before the queue reads what has arrived of a source.
bool Plan::await_promise(std::uint32_t index, std::size_t source, const Slice& slice) const {
  const Port& port = steps_[index].sources[source].port;
  return port.channel == nullptr || !port.channel->is_promised_aside(port.index, slice.number) ||
         device_->queue.wait_for_flag(port.channel->own_flags_aside(port.index) +
                                          slice.number % shape_.window * sizeof(std::uint32_t),
                                      transport::Channel::flag_value(slice.number));
}

/// A send as on the host, of what is in bounce memory by now, or stays on the device.
bool Plan::post_bounced(const BoundStep& step, std::uint32_t index, Slice& slice) {
  const auto [begin, end] = slice.geometry->ranges[index];
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  const DeviceSide::Outgoing& send = device_->steps[index].send;
  std::uint32_t& started = slice.reached[index];
  for (; started < step.ports.size(); ++started) {
    const Port& port = step.ports[started];
    if (port.shares_memory && send.aside) continue;
    const bool straight = !port.shares_memory && send.goes_straight(bytes);
    if (!(straight ? start_straight(port, slice, device_address(step.place, slice, begin), bytes)
                   : start(port, slice, slice.room.bounce + send.bounce, bytes)))
      return false;
  }
  return std::all_of(step.ports.begin(), step.ports.end(), [&](const Port& port) {
    return port.shares_memory || port.channel->sent(port.index, slice.number);
  });
}

bool Plan::start_straight(const Port& port, const Slice& slice, std::byte* payload, std::size_t bytes) const {
  void* const seen = device_->queue.address_for_networks(payload);
  if (seen == nullptr || !port.channel->start_straight(port.index, slice.number, seen, bytes)) return false;
  device_->queue.count_straight(bytes);
  return true;
}

/// What has arrived of a source, or what is local.
DeviceQueue::Operand Plan::device_operand(std::uint32_t index, std::size_t number, const Slice& slice) {
  using Where = DeviceQueue::Operand::Where;
  const Source& source = steps_[index].sources[number];
  const auto [begin, end] = slice.geometry->ranges[index];
  if (source.port.channel == nullptr) return {device_address(source.place, slice, begin), Where::slice};
  const DeviceSide::Incoming& incoming = device_->steps[index].sources[number];
  const void* payload = source.port.channel->arrived(source.port.index, slice.number);
  if (payload == nullptr)
    return {incoming.peer + source.port.channel->arrived_aside(source.port.index, slice.number), Where::slot};
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  if (incoming.bounce == DeviceSide::none) {
    device_->queue.count_bounced(bytes);
    return {payload, Where::host};
  }
  if (incoming.landing != DeviceSide::none) {
    std::byte* const landed = slice.room.landing + incoming.landing;
    if (payload == device_->queue.address_for_networks(landed)) {
      device_->queue.count_straight(bytes);
      return {landed, Where::slice};
    }
  }
  device_->queue.count_bounced(bytes);
  // Pinned, so that the copy to the device needs no stop-over.
  copy_(slice.room.bounce + incoming.bounce, payload, bytes, kernel::Store::cached);
  return {slice.room.bounce + incoming.bounce, Where::host};
}

bool Plan::attempt_on_device(const BoundStep& step, std::uint32_t index, Slice& slice) {
  if (device_->full() || !all_arrived(step, index, slice)) return false;
  const auto [begin, end] = slice.geometry->ranges[index];
  const auto count = static_cast<std::size_t>(end - begin);
  const Request& request = *slice.request;
  const auto slot = static_cast<std::uint32_t>(slice.number % shape_.window);
  std::byte* const to = device_address(step.place, slice, begin);
  for (std::size_t i = 0; i < step.sources.size(); ++i) {
    if (!await_promise(index, i, slice)) return false;
    device_->operands[i] = device_operand(index, i, slice);
  }
  const DeviceQueue::Operand& received = device_->operands[0];
  const std::size_t bytes = count * request.reducer.element_bytes;
  const bool receives = step.kind != sched::Kind::reduce;
  if (receives && received.at == to) return true;
  const bool beside = receives && received.where == DeviceQueue::Operand::Where::host;
  bool entered = beside || device_->queue.await_copies(slot);
  if (!receives)
    entered = entered && device_->queue.reduce(request.element, request.operation, to,
                                               {device_->operands.data(), step.sources.size()}, count);
  else if (beside)
    entered = device_->queue.copy_from_host(slot, to, received.at, bytes);
  else
    entered = entered && device_->queue.copy(to, received.at, bytes);
  const auto by = beside ? DeviceSide::By::copies_from_host : DeviceSide::By::queue;
  if (!entered || !queue_step(index, slice, DeviceSide::Phase::queued, by)) return false;
  ++slice.open_steps; // until it is settled
  return true;
}

// ---- slices on the host -------------------------------------------------------------------------------------------

bool Plan::attempt_with_fetched(const BoundStep& step, std::uint32_t index, Slice& slice) {
  switch (device_->phase(slice.number % shape_.window, index)) {
  case DeviceSide::Phase::fresh:
    break;
  case DeviceSide::Phase::waiting:
  case DeviceSide::Phase::queued:
    return false;
  case DeviceSide::Phase::there:
    if (!device_->full() && fetch(step, index, slice))
      (void)queue_step(index, slice, DeviceSide::Phase::queued, DeviceSide::By::queue); // a failure is kept
    return false;
  case DeviceSide::Phase::passed:
    return use_fetched(step, index, slice);
  }
  if (!all_arrived(step, index, slice)) return false;
  const bool on_host = std::all_of(step.sources.begin(), step.sources.end(), [&](const Source& source) {
    return source.port.channel == nullptr || source.port.channel->arrived(source.port.index, slice.number) != nullptr;
  });
  if (on_host)
    return step.kind == sched::Kind::reduce ? attempt_reduce(step, index, slice) : attempt_recv(step, index, slice);
  if (device_->full()) return false;
  bool waits = false;
  for (std::size_t i = 0; i < step.sources.size(); ++i) {
    waits |= is_promised(step.sources[i], slice);
    if (!await_promise(index, i, slice)) return false;
  }
  // A copy to the host's memory may hold up the caller until it is done: it enters the queue when it can begin.
  if (waits)
    (void)queue_step(index, slice, DeviceSide::Phase::waiting,
                     DeviceSide::By::queue); // a failure is kept, likewise below
  else if (fetch(step, index, slice))
    (void)queue_step(index, slice, DeviceSide::Phase::queued, DeviceSide::By::queue);
  return false;
}

/// Where an operand that is aside is copied to: a received one to where it belongs.
std::byte* Plan::fetched_room(const BoundStep& step, std::uint32_t index, std::size_t source,
                              const Slice& slice) const {
  if (step.kind != sched::Kind::reduce) return address(step.place, slice, slice.geometry->ranges[index].first);
  return device_->fetched.data() + slice.number % shape_.window * device_->fetched_bytes +
         device_->steps[index].sources[source].fetched;
}

bool Plan::fetch(const BoundStep& step, std::uint32_t index, const Slice& slice) {
  const auto [begin, end] = slice.geometry->ranges[index];
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  for (std::size_t i = 0; i < step.sources.size(); ++i) {
    const Port& port = step.sources[i].port;
    if (port.channel == nullptr) continue;
    const std::size_t offset = port.channel->arrived_aside(port.index, slice.number);
    if (offset == transport::Channel::nowhere) continue;
    const std::byte* const slots = device_->steps[index].sources[i].peer;
    if (!device_->queue.copy(fetched_room(step, index, i, slice), slots + offset, bytes)) return false;
  }
  return true;
}

bool Plan::use_fetched(const BoundStep& step, std::uint32_t index, Slice& slice) {
  if (step.kind != sched::Kind::reduce) {
    step.sources[0].port.channel->release(step.sources[0].port.index, slice.number);
    return true;
  }
  for (std::size_t i = 0; i < step.sources.size(); ++i) {
    const Source& source = step.sources[i];
    if (source.port.channel == nullptr)
      operands_[i] = address(source.place, slice, slice.geometry->ranges[index].first);
    else if (const void* payload = source.port.channel->arrived(source.port.index, slice.number))
      operands_[i] = payload;
    else
      operands_[i] = fetched_room(step, index, i, slice);
  }
  run_reducer(step, index, slice);
  return true;
}

} // namespace strata::engine
