// SPDX-License-Identifier: BSD-3-Clause
// A Plan beside a device: what is agreed before the first request, and what is the same for slices on the device and on
// the host. The steps themselves are in plan_device_steps.cc, and how it works in device_side.h.
#include "base/rounding.h"
#include "engine/device_side.h"

#include <algorithm>
#include <new>

namespace strata::engine {
namespace {

std::size_t whole_lines(std::size_t bytes) { return rounded_up(bytes, 64); }

} // namespace

Plan::Plan() = default;
Plan::~Plan() = default;

// ---- set-up -------------------------------------------------------------------------------------------------------

/// Messages of at least so many bytes need not pass through the host; of a port that leads to another node.
std::size_t Plan::least_straight(const Port& port, std::optional<MemoryKind> networks) {
  return networks ? port.channel->least_straight(*networks) : SIZE_MAX;
}

DeviceNeeds Plan::device_needs(std::optional<MemoryKind> networks) const {
  DeviceNeeds needs;
  for (const auto& channel : channels_)
    if (channel && channel->aside_bytes() > needs.slots) {
      needs.slots = channel->aside_bytes();
      needs.flag_bytes = channel->flag_bytes();
      needs.first_flag = needs.slots - needs.flag_bytes;
    }
  needs.region = scratch_region_bytes_;
  for (const BoundStep& step : steps_) {
    const std::size_t bytes = most_bytes(step.range);
    for (const Source& source : step.sources) {
      if (lands(source.port, bytes, networks)) needs.landing += whole_lines(bytes);
      needs.leaves_the_node |= source.port.channel != nullptr && !source.port.shares_memory;
    }
    for (const Port& port : step.ports) {
      needs.straight |= !port.shares_memory && bytes >= least_straight(port, networks);
      needs.leaves_the_node |= !port.shares_memory;
    }
    if (step.kind != sched::Kind::reduce) continue;
    needs.inputs = std::max(needs.inputs, step.sources.size());
    needs.operands = std::max(needs.operands, (step.sources.size() + 1) * whole_lines(bytes));
  }
  needs.straight |= needs.landing > 0;
  needs.room = (1 + std::size_t{scratch_regions_}) * scratch_region_bytes_ + needs.landing;
  return needs;
}

std::vector<std::int32_t> Plan::device_peers(bool sets_flags) const {
  std::vector<std::int32_t> ranks;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    for (const Source& source : steps_[s].sources)
      if (source.port.shares_memory) ranks.push_back(source.port.peer);
    if (sets_flags) ranks.insert(ranks.end(), readers_[s].begin(), readers_[s].end());
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

bool Plan::lands(const Port& port, std::size_t bytes, std::optional<MemoryKind> networks) {
  return port.channel != nullptr && !port.shares_memory && bytes >= least_straight(port, networks);
}

Status Plan::connect_device(DeviceQueue& queue, const std::vector<std::byte*>& peers,
                            std::optional<MemoryKind> networks) {
  auto side = std::make_unique<DeviceSide>(queue, networks);
  side->peers = peers;
  std::size_t landing = 0;
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
        if (!lands(source.port, most_bytes(steps_[s].range), networks)) continue;
        incoming.landing = landing;
        side->landings.push_back({source.port, landing});
        landing += bytes;
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
  for (const DeviceSide::Landing& message : side->landings)
    message.port.channel->prepare_offers();
  device_ = std::move(side);
  return ok();
}

bool Plan::set_tried_flags(const std::vector<bool>& waiters) const {
  for (std::size_t s = 0; s < steps_.size(); ++s)
    for (const std::int32_t reader : readers_[s]) {
      std::byte* const flag = waiters[static_cast<std::size_t>(reader)] ? flags_of(s, reader) : nullptr;
      if (flag != nullptr && !device_->queue.set_flag(flag, transport::Channel::flag_value(0))) return false;
    }
  return true;
}

bool Plan::await_tried_flags(const std::vector<bool>& senders) const {
  for (const BoundStep& step : steps_)
    for (const Source& source : step.sources) {
      if (!source.port.shares_memory || !senders[static_cast<std::size_t>(source.port.peer)]) continue;
      const std::size_t flag = source.port.channel->own_flags_aside(source.port.index);
      if (!device_->queue.wait_for_flag(flag, transport::Channel::flag_value(0))) return false;
    }
  return device_->queue.mark(0);
}

/// Of a reader of a step's message, as they are mapped here; null: they are not, or that rank has not said where they
/// are.
std::byte* Plan::flags_of(std::size_t step, std::int32_t reader) const {
  std::byte* const slots = device_->peers[static_cast<std::size_t>(reader)];
  if (slots == nullptr) return nullptr;
  for (const Port& port : steps_[step].ports) {
    const std::size_t offset =
        port.shares_memory ? port.channel->flags_aside(port.index, reader) : transport::Channel::nowhere;
    if (offset != transport::Channel::nowhere) return slots + offset;
  }
  return nullptr;
}

void Plan::let_read(const std::vector<bool>& readers, const std::vector<bool>& waiters) {
  device_->takes_promises = std::find(waiters.begin(), waiters.end(), true) != waiters.end();
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].kind != sched::Kind::send) continue;
    DeviceSide::Outgoing& send = device_->steps[s].send;
    send.aside = !readers_[s].empty() && std::all_of(readers_[s].begin(), readers_[s].end(), [&](std::int32_t rank) {
      return readers[static_cast<std::size_t>(rank)];
    });
    send.flags.clear();
    for (const std::int32_t reader : readers_[s])
      if (std::byte* const flags = waiters[static_cast<std::size_t>(reader)] ? flags_of(s, reader) : nullptr)
        send.flags.push_back(flags);
    send.promised = send.aside && send.flags.size() == readers_[s].size();
    send.shared_by_host = !readers_[s].empty() && !send.aside;
    bool leaves_the_node = false;
    for (const Port& port : steps_[s].ports) {
      if (port.shares_memory) continue;
      send.least_straight =
          std::max(leaves_the_node ? send.least_straight : 0, least_straight(port, device_->networks));
      leaves_the_node = true;
    }
    if (most_bytes(steps_[s].range) < send.least_straight) send.least_straight = SIZE_MAX;
    if (!send.shared_by_host && !leaves_the_node) continue;
    send.bounce = device_->bounce_bytes;
    device_->bounce_bytes += whole_lines(most_bytes(steps_[s].range));
  }
}

void Plan::disconnect_device() { device_.reset(); }

bool Plan::uses_device() const {
  return device_ && (!device_->landings.empty() ||
                     std::any_of(device_->steps.begin(), device_->steps.end(), [](const DeviceSide::Step& step) {
                       return step.send.aside || step.send.least_straight != SIZE_MAX;
                     }));
}

bool Plan::sets_flags() const {
  return device_ && std::any_of(device_->steps.begin(), device_->steps.end(),
                                [](const DeviceSide::Step& step) { return step.send.promised; });
}

std::size_t Plan::bounce_bytes() const { return device_->bounce_bytes; }

// ---- what both kinds of slices need -------------------------------------------------------------------------------

void Plan::begin_beside_device(const Slice& slice) {
  const auto first =
      device_->phases.begin() + static_cast<std::ptrdiff_t>(slice.number % shape_.window * steps_.size());
  std::fill(first, first + static_cast<std::ptrdiff_t>(steps_.size()), DeviceSide::Phase::fresh);
  if (!slice.request->on_device) return;
  for (const DeviceSide::Landing& message : device_->landings)
    if (void* const place = device_->queue.address_for_networks(slice.room.landing + message.place))
      message.port.channel->offer(message.port.index, slice.number, place);
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
bool Plan::queue_step(std::uint32_t index, const Slice& slice, DevicePhase phase, DeviceOrder by) {
  const auto slot = static_cast<std::uint32_t>(slice.number % shape_.window);
  if (!device_->queue.mark(static_cast<std::uint32_t>(device_->end % DeviceQueue::marks))) return false;
  device_->under_way[device_->end++ % DeviceQueue::marks] = {slot, index, by, false};
  device_->phase(slot, index) = phase;
  return true;
}

bool Plan::is_given_up() {
  return std::any_of(channels_.begin(), channels_.end(),
                     [](const auto& channel) { return channel && channel->is_given_up(); });
}

bool Plan::settle_device() {
  bool moved = false;
  std::array<bool, 3> is_behind{}; // by order: the oldest of its work has not run yet
  for (std::uint64_t number = device_->first; number < device_->end; ++number) {
    DeviceSide::Work& work = device_->under_way[number % DeviceQueue::marks];
    bool& behind = is_behind[static_cast<std::size_t>(work.by)];
    if (work.settled || behind) continue;
    behind = !device_->queue.passed(static_cast<std::uint32_t>(number % DeviceQueue::marks));
    if (behind) continue;
    // A queue that gave up has let its readers' run on, and theirs: what has run then proves nothing.
    if (device_->takes_promises && is_given_up()) break;
    settle(slices_[work.slot], work.step);
    moved = work.settled = true;
  }
  while (device_->first < device_->end && device_->under_way[device_->first % DeviceQueue::marks].settled)
    ++device_->first;
  return moved;
}

/// Tells the peers that the work of a step has run.
void Plan::settle(Slice& slice, std::uint32_t index) {
  const BoundStep& step = steps_[index];
  DeviceSide::Phase& phase = device_->phase(slice.number % shape_.window, index);
  phase = phase == DeviceSide::Phase::waiting ? DeviceSide::Phase::there : DeviceSide::Phase::passed;
  if (!slice.request->on_device) return; // the step goes on by itself
  const auto [begin, end] = slice.geometry->ranges[index];
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * slice.request->reducer.element_bytes;
  const DeviceSide::Outgoing& send = device_->steps[index].send;
  for (const Port& port : step.ports)
    if (port.shares_memory && send.aside && !send.is_promised(slice.number))
      port.channel->publish_aside(port.index, slice.number, bytes);
  if (send.bounce != DeviceSide::none) return; // the step goes on by itself
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

} // namespace strata::engine
