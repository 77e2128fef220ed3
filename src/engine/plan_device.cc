// SPDX-License-Identifier: BSD-3-Clause
// Steps of a Plan beside a device: the same steps over the same channels, with payloads that may lie in device memory.
//
// A slice works on the host or on the device, by its request; its peers' slices likewise, and nobody knows of the
// others before their payloads come. What a sender's slice and its readers can do decides where a payload lies:
//
//     sender's slice   in its slots on the device, published "aside"     in the channel's memory, as ever
//     on the device    when all readers have mapped these slots          else, through bounce memory of the host
//     on the host      never                                             always
//
//     reader's slice   payload aside                                     payload in the channel's memory
//     on the device    the mapped slot is the operand                    the queue copies it to the device first
//     on the host      the queue copies it to the host first             as ever
//
// On the device, steps only enter the queue: what depends on them follows at once, because the queue keeps the order.
// What others see - a payload is published, an operand is let go - waits until the mark behind the work has passed.
// That is the only thing that is asked of the device here, so nothing waits, and ranks that share a device leave it to
// each other between their steps.
#include "base/rounding.h"
#include "engine/plan.h"

#include <algorithm>
#include <new>

namespace strata::engine {
namespace {

constexpr std::size_t none = SIZE_MAX;

std::size_t whole_lines(std::size_t bytes) { return rounded_up(bytes, 64); }

} // namespace

struct Plan::DeviceSide {
  /// How far the queue is with a step.
  enum class Phase : std::uint8_t { fresh, queued, passed };
  struct Incoming {
    const std::byte* peer = nullptr; ///< the sender's slots as they are mapped here; null: its payloads come as ever
    std::size_t bounce = none;       ///< of a message from another node: its place in a slice's bounce memory
    std::size_t fetched = none;      ///< of a reduction's operand: its place in a slice's fetched memory
  };
  struct Outgoing {
    bool aside = false;        ///< what goes through shared memory
    std::size_t bounce = none; ///< for what cannot go aside: its place in a slice's bounce memory
  };
  struct Step {
    Outgoing send;
    std::vector<Incoming> sources;
  };
  struct Work {
    std::uint32_t slot = 0, step = 0;
  };

  explicit DeviceSide(DeviceQueue& used) : queue(used) {}
  Phase& phase(std::uint64_t slot, std::uint32_t step) { return phases[slot * steps.size() + step]; }
  bool full() const { return first + DeviceQueue::marks == end; }

  DeviceQueue& queue;
  std::vector<Step> steps;
  std::vector<Phase> phases; ///< by slot and step
  std::array<Work, DeviceQueue::marks> under_way;
  std::uint64_t first = 0, end = 0; ///< of the work under way; its mark is the number mod marks
  std::size_t bounce_bytes = 0;     ///< of a slice
  std::size_t fetched_bytes = 0;    ///< of a slice
  Scratch fetched;                  ///< copies on the host of operands in peers' slots
  std::vector<DeviceQueue::Operand> operands;
};

Plan::Plan() = default;
Plan::~Plan() = default;

// ---- set-up -------------------------------------------------------------------------------------------------------

DeviceNeeds Plan::device_needs() const {
  DeviceNeeds needs;
  for (const auto& channel : channels_)
    if (channel) needs.slots = std::max(needs.slots, channel->aside_bytes());
  needs.region = scratch_region_bytes_;
  needs.room = (1 + std::size_t{scratch_regions_}) * scratch_region_bytes_;
  for (const BoundStep& step : steps_) {
    if (step.kind != sched::Kind::reduce) continue;
    needs.inputs = std::max(needs.inputs, step.sources.size());
    needs.operands = std::max(needs.operands, (step.sources.size() + 1) * whole_lines(most_bytes(step.range)));
  }
  return needs;
}

std::vector<std::int32_t> Plan::device_sources() const {
  std::vector<std::int32_t> ranks;
  for (const BoundStep& step : steps_)
    for (const Source& source : step.sources)
      if (source.port.shares_memory) ranks.push_back(source.port.peer);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

Status Plan::connect_device(DeviceQueue& queue, const std::vector<const std::byte*>& peers) {
  auto side = std::make_unique<DeviceSide>(queue);
  side->steps.resize(steps_.size());
  side->phases.resize(steps_.size() * shape_.window);
  side->operands.resize(operands_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s)
    for (const Source& source : steps_[s].sources) {
      DeviceSide::Incoming& incoming = side->steps[s].sources.emplace_back();
      if (source.port.channel == nullptr) continue;
      const std::size_t bytes = whole_lines(most_bytes(steps_[s].range));
      if (!source.port.shares_memory) {
        incoming.bounce = side->bounce_bytes;
        side->bounce_bytes += bytes;
        continue;
      }
      incoming.peer = peers[static_cast<std::size_t>(source.port.peer)];
      if (incoming.peer == nullptr || steps_[s].kind != sched::Kind::reduce) continue;
      incoming.fetched = side->fetched_bytes;
      side->fetched_bytes += bytes;
    }
  auto fetched = Scratch::allocate(shape_.scratch, side->fetched_bytes * shape_.window);
  if (!fetched) return fetched.error();
  side->fetched = std::move(*fetched);
  device_ = std::move(side);
  return ok();
}

void Plan::let_read(const std::vector<bool>& readers) {
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].kind != sched::Kind::send) continue;
    DeviceSide::Outgoing& send = device_->steps[s].send;
    send.aside = !readers_[s].empty() && std::all_of(readers_[s].begin(), readers_[s].end(), [&](std::int32_t rank) {
      return readers[static_cast<std::size_t>(rank)];
    });
    if (std::all_of(steps_[s].ports.begin(), steps_[s].ports.end(),
                    [&](const Port& port) { return port.shares_memory && send.aside; }))
      continue;
    send.bounce = device_->bounce_bytes;
    device_->bounce_bytes += whole_lines(most_bytes(steps_[s].range));
  }
}

void Plan::disconnect_device() { device_.reset(); }

bool Plan::sends_between_devices() const {
  return device_ && std::any_of(device_->steps.begin(), device_->steps.end(),
                                [](const DeviceSide::Step& step) { return step.send.aside; });
}

std::size_t Plan::bounce_bytes() const { return device_->bounce_bytes; }

// ---- what both kinds of slices need -------------------------------------------------------------------------------

void Plan::begin_on_device(const Slice& slice) {
  const auto first =
      device_->phases.begin() + static_cast<std::ptrdiff_t>(slice.number % shape_.window * steps_.size());
  std::fill(first, first + static_cast<std::ptrdiff_t>(steps_.size()), DeviceSide::Phase::fresh);
}

bool Plan::has_arrived(const Source& source, const Slice& slice, std::size_t bytes) const {
  const Port& port = source.port;
  return payload(port, slice, bytes) != nullptr ||
         (device_ && port.channel->arrived_aside(port.index, slice.number) != transport::Channel::nowhere);
}

bool Plan::all_arrived(const BoundStep& step, std::uint32_t index, Slice& slice) const {
  const auto [begin, end] = slice.geometry->ranges[index];
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  std::uint32_t& arrived = slice.reached[index];
  for (; arrived < step.sources.size(); ++arrived)
    if (step.sources[arrived].port.channel != nullptr && !has_arrived(step.sources[arrived], slice, bytes))
      return false;
  return true;
}

/// Puts a mark behind what a step has put into the queue.
bool Plan::queue_step(std::uint32_t index, const Slice& slice) {
  const auto slot = static_cast<std::uint32_t>(slice.number % shape_.window);
  if (!device_->queue.mark(static_cast<std::uint32_t>(device_->end % DeviceQueue::marks))) return false;
  device_->under_way[device_->end++ % DeviceQueue::marks] = {slot, index};
  device_->phase(slot, index) = DeviceSide::Phase::queued;
  return true;
}

bool Plan::settle_device() {
  bool moved = false;
  while (device_->first < device_->end &&
         device_->queue.passed(static_cast<std::uint32_t>(device_->first % DeviceQueue::marks))) {
    const DeviceSide::Work work = device_->under_way[device_->first++ % DeviceQueue::marks];
    settle(slices_[work.slot], work.step);
    moved = true;
  }
  return moved;
}

/// Tells the peers that the work of a step has run.
void Plan::settle(Slice& slice, std::uint32_t index) {
  const BoundStep& step = steps_[index];
  device_->phase(slice.number % shape_.window, index) = DeviceSide::Phase::passed;
  if (!slice.request->on_device) return; // the step goes on by itself
  const auto [begin, end] = slice.geometry->ranges[index];
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  const DeviceSide::Outgoing& send = device_->steps[index].send;
  for (const Port& port : step.ports)
    if (port.shares_memory && send.aside) port.channel->publish_aside(port.index, slice.number, bytes);
  if (send.bounce != none) return; // the step goes on by itself
  for (const Source& source : step.sources)
    if (source.port.channel != nullptr) source.port.channel->release(source.port.index, slice.number);
  --slice.open_steps;
}

bool Plan::attempt_beside_device(const BoundStep& step, std::uint32_t index, Slice& slice) {
  if (slice.request->on_device)
    return step.kind == sched::Kind::send ? attempt_send_on_device(step, index, slice)
                                          : attempt_on_device(step, index, slice);
  return step.kind == sched::Kind::send ? attempt_send(step, index, slice) : attempt_with_fetched(step, index, slice);
}

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
    if (send.bounce != none) return false;
    ++slice.open_steps; // until it is settled
    slice.reached[index] = static_cast<std::uint32_t>(step.ports.size());
    return true;
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
  const DeviceSide::Outgoing& send = device_->steps[index].send;
  for (const Port& port : step.ports) {
    if (!port.shares_memory || !send.aside) continue;
    const std::size_t room = port.channel->room_aside(port.index, slice.number);
    if (room == transport::Channel::nowhere || !device_->queue.put_aside(room, payload, bytes)) return false;
  }
  if (send.bounce != none && !device_->queue.copy(slice.room.bounce + send.bounce, payload, bytes)) return false;
  return queue_step(index, slice);
}

/// A send as on the host, of what is in bounce memory by now.
bool Plan::post_bounced(const BoundStep& step, std::uint32_t index, Slice& slice) {
  const auto [begin, end] = slice.geometry->ranges[index];
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  const DeviceSide::Outgoing& send = device_->steps[index].send;
  const auto goes_aside = [&](const Port& port) { return port.shares_memory && send.aside; };
  std::uint32_t& started = slice.reached[index];
  for (; started < step.ports.size(); ++started) {
    const Port& port = step.ports[started];
    if (!goes_aside(port) && !start(port, slice, slice.room.bounce + send.bounce, bytes)) return false;
  }
  return std::all_of(step.ports.begin(), step.ports.end(), [&](const Port& port) {
    return port.shares_memory || port.channel->sent(port.index, slice.number);
  });
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
  if (incoming.bounce == none) return {payload, Where::host};
  // Pinned, so that the copy to the device needs no stop-over.
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  copy_(slice.room.bounce + incoming.bounce, payload, bytes, kernel::Store::cached);
  return {slice.room.bounce + incoming.bounce, Where::host};
}

bool Plan::attempt_on_device(const BoundStep& step, std::uint32_t index, Slice& slice) {
  if (device_->full() || !all_arrived(step, index, slice)) return false;
  const auto [begin, end] = slice.geometry->ranges[index];
  const auto count = static_cast<std::size_t>(end - begin);
  const Request& request = *slice.request;
  std::byte* const to = device_address(step.place, slice, begin);
  for (std::size_t i = 0; i < step.sources.size(); ++i)
    device_->operands[i] = device_operand(index, i, slice);
  if (step.kind != sched::Kind::reduce && device_->operands[0].at == to) return true;
  const bool entered = step.kind == sched::Kind::reduce
                           ? device_->queue.reduce(request.element, request.operation, to,
                                                   {device_->operands.data(), step.sources.size()}, count)
                           : device_->queue.copy(to, device_->operands[0].at, count * request.reducer.element_bytes);
  if (!entered || !queue_step(index, slice)) return false;
  ++slice.open_steps; // until it is settled
  return true;
}

// ---- slices on the host -------------------------------------------------------------------------------------------

bool Plan::attempt_with_fetched(const BoundStep& step, std::uint32_t index, Slice& slice) {
  switch (device_->phase(slice.number % shape_.window, index)) {
  case DeviceSide::Phase::fresh:
    break;
  case DeviceSide::Phase::queued:
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
  if (!device_->full() && fetch(step, index, slice)) (void)queue_step(index, slice); // a failure is kept
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
