// SPDX-License-Identifier: BSD-3-Clause
// Making a Plan: from steps over units to steps bound to channels.
#include "base/rounding.h"
#include "engine/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace strata::engine {
namespace {

bool overlap(sched::Range a, sched::Range b) { return a.begin < b.end && b.begin < a.end; }

bool in_user_memory(sched::Place place) { return place.buffer != sched::Buffer::scratch; }

/// Whether a step reads user memory at `range`.
bool reads(const sched::Step& step, sched::Range range) {
  if (!overlap(step.range, range)) return false;
  if (step.kind == sched::Kind::send) return in_user_memory(step.place);
  return std::any_of(step.operands.begin(), step.operands.end(), [](const sched::Operand& operand) {
    return operand.kind == sched::Operand::Kind::local && in_user_memory(operand.place);
  });
}

} // namespace

/// Room for a range of a slice: its share, and an element of rounding at each end.
std::size_t Plan::most_bytes(sched::Range range) const {
  const auto share = static_cast<unsigned __int128>(range.end - range.begin) * shape_.slice_bytes / sched::whole;
  return std::min(static_cast<std::size_t>(share) + 16, shape_.slice_bytes);
}

Result<std::unique_ptr<Plan>> Plan::prepare(const sched::Program& program, const PlanShape& shape, const Route& route,
                                            kernel::CopyFunction copy) {
  std::unique_ptr<Plan> plan(new (std::nothrow) Plan);
  if (!plan) return Error{ErrorKind::resource, "no memory for a plan"};
  plan->shape_ = shape;
  plan->copy_ = copy;
  if (shape.recorder != nullptr) plan->first_step_name_ = shape.recorder->step_names(program);
  plan->channel_shapes_.resize(route.links.size());
  for (transport::ChannelShape& channel : plan->channel_shapes_) {
    channel.plan = shape.number;
    channel.window = shape.window;
  }
  plan->bind_steps(program, route);
  if (Status made = plan->make_channels(route); !made) return made.error();

  plan->scratch_regions_ = program.scratch_regions;
  plan->scratch_region_bytes_ = rounded_up(shape.slice_bytes, 64);
  auto scratch = Scratch::allocate(shape.scratch, plan->scratch_region_bytes_ * program.scratch_regions * shape.window);
  if (!scratch) return scratch.error();
  plan->scratch_ = std::move(*scratch);
  plan->slices_.resize(shape.window);
  for (Slice& slice : plan->slices_) {
    slice.waiting_for.resize(plan->steps_.size());
    slice.reached.resize(plan->steps_.size());
    slice.active.reserve(plan->steps_.size());
  }
  for (Geometry& geometry : plan->geometries_)
    geometry.ranges.resize(plan->steps_.size());
  plan->requests_.reserve(16);
  return plan;
}

void Plan::bind_steps(const sched::Program& program, const Route& route) {
  // Ports hold the link's index in place of the channel until make_channels() has made them.
  const auto link_as_channel = [](std::size_t link) { return reinterpret_cast<transport::Channel*>(link + 1); };
  std::size_t most_operands = 1;
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const sched::Step& step = program.steps[s];
    BoundStep bound;
    bound.kind = step.kind;
    bound.place = step.place;
    bound.range = step.range;
    bound.level = std::min<std::uint8_t>(step.tag.level, most_levels - 1);
    bound.receivers = static_cast<std::uint32_t>(step.peers.size());
    bound.dependencies = static_cast<std::uint32_t>(step.dependencies.size());
    const std::size_t bytes = most_bytes(step.range);
    for (const sched::Operand& operand : step.operands) {
      Source source;
      source.place = operand.place;
      if (operand.kind == sched::Operand::Kind::message) {
        const std::size_t link = route.by_rank[static_cast<std::size_t>(operand.peer)];
        auto& incoming = channel_shapes_[link].incoming;
        source.port = {link_as_channel(link), static_cast<std::uint32_t>(incoming.size()), false, operand.peer};
        incoming.push_back({operand.tag, step.range.begin, operand.peer, bytes});
      }
      bound.sources.push_back(source);
    }
    for (std::size_t link = 0; link < route.links.size(); ++link) {
      transport::Outgoing message{step.tag, step.range.begin, {}, bytes};
      for (std::int32_t peer : step.peers)
        if (route.by_rank[static_cast<std::size_t>(peer)] == link) message.peers.push_back(peer);
      if (message.peers.empty()) continue;
      auto& outgoing = channel_shapes_[link].outgoing;
      bound.ports.push_back({link_as_channel(link), static_cast<std::uint32_t>(outgoing.size()), false});
      outgoing.push_back(std::move(message));
    }
    if (step.kind != sched::Kind::send && in_user_memory(step.place))
      bound.final_write = std::none_of(program.steps.begin() + static_cast<std::ptrdiff_t>(s) + 1, program.steps.end(),
                                       [&](const sched::Step& later) { return reads(later, step.range); });
    most_operands = std::max(most_operands, bound.sources.size());
    if (step.dependencies.empty()) roots_.push_back(static_cast<std::uint32_t>(s));
    for (sched::StepIndex earlier : step.dependencies)
      steps_[static_cast<std::size_t>(earlier)].successors.push_back(static_cast<std::uint32_t>(s));
    steps_.push_back(std::move(bound));
  }
  operands_.resize(most_operands);
}

Status Plan::make_channels(const Route& route) {
  channels_.resize(route.links.size());
  for (std::size_t link = 0; link < route.links.size(); ++link) {
    if (channel_shapes_[link].outgoing.empty() && channel_shapes_[link].incoming.empty()) continue;
    auto channel = route.links[link]->prepare(channel_shapes_[link]);
    if (!channel) return channel.error();
    channels_[link] = std::move(*channel);
  }
  readers_.resize(steps_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s)
    for (const Port& port : steps_[s].ports) {
      const std::size_t link = reinterpret_cast<std::size_t>(port.channel) - 1;
      if (channels_[link]->shares_memory()) readers_[s] = channel_shapes_[link].outgoing[port.index].peers;
    }
  const auto resolve = [&](Port& port) {
    if (port.channel == nullptr) return;
    port.channel = channels_[reinterpret_cast<std::size_t>(port.channel) - 1].get();
    port.shares_memory = port.channel->shares_memory();
  };
  for (BoundStep& step : steps_) {
    for (Source& source : step.sources)
      resolve(source.port);
    for (Port& port : step.ports)
      resolve(port);
  }
  channel_shapes_.clear();
  return ok();
}

std::vector<std::uint64_t> Plan::announcements() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& channel : channels_)
    numbers.push_back(channel ? channel->announcement() : 0);
  return numbers;
}

Status Plan::connect(const std::vector<std::vector<std::uint64_t>>& announced) {
  for (std::size_t link = 0; link < channels_.size(); ++link)
    if (channels_[link])
      if (Status connected = channels_[link]->connect(announced[link]); !connected) return connected;
  return ok();
}

void Plan::make_ready(std::size_t call_bytes) {
  const std::size_t slice = std::min(call_bytes, shape_.slice_bytes);
  for (auto& channel : channels_)
    if (channel) channel->make_ready(static_cast<double>(slice) / static_cast<double>(shape_.slice_bytes));
}

bool Plan::connected() {
  bool all = true;
  for (auto& channel : channels_) {
    if (!channel) continue;
    (void)channel->progress(); // of those that are connected too: their peers may need answers
    all &= channel->connected();
  }
  return all;
}

void Plan::give_up_connecting() {
  for (auto& channel : channels_)
    if (channel) channel->give_up_connecting();
}

const char* Plan::failure() const {
  for (const auto& channel : channels_)
    if (channel && channel->failure() != nullptr) return channel->failure();
  return nullptr;
}

void Plan::abandon() {
  requests_.clear();
  for (auto& channel : channels_)
    if (channel) channel->give_up_call();
}

void Plan::depart() {
  for (auto& channel : channels_)
    if (channel) channel->depart();
}

bool Plan::quiescent() {
  return std::all_of(channels_.begin(), channels_.end(),
                     [](const auto& channel) { return !channel || channel->quiescent(); });
}

transport::Traffic Plan::traffic(std::size_t link) const {
  return channels_[link] ? channels_[link]->traffic() : transport::Traffic{};
}

} // namespace strata::engine
