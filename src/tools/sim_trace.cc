// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sim.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::tools {
namespace {

using nlohmann::json;

constexpr double microseconds = 1e6;

const char* name_of(sched::Kind kind) {
  switch (kind) {
  case sched::Kind::send:
    return "send";
  case sched::Kind::recv:
    return "recv";
  case sched::Kind::reduce:
    return "reduce";
  case sched::Kind::copy:
    return "copy";
  }
  return "?";
}

json metadata(const char* name, std::int32_t process, std::int32_t thread, const std::string& text) {
  return {{"ph", "M"}, {"name", name}, {"pid", process}, {"tid", thread}, {"args", {{"name", text}}}};
}

/// To whom a step sends, or from whom it takes.
std::vector<std::int32_t> peers_of(const sched::Step& step) {
  std::vector<std::int32_t> peers = step.peers;
  for (const sched::Operand& operand : step.operands)
    if (operand.kind == sched::Operand::Kind::message) peers.push_back(operand.peer);
  return peers;
}

} // namespace

json trace_of(const sim::Machine& machine, const hier::AllReduce& schedule, const sim::Outcome& outcome) {
  json events = json::array();
  const auto nodes = sim::nodes_of(machine);
  std::vector<bool> named(nodes.size(), false);
  std::vector<std::vector<const sim::Activity*>> by_rank(nodes.size());
  for (const sim::Activity& activity : outcome.timeline)
    by_rank[static_cast<std::size_t>(activity.rank)].push_back(&activity);
  for (std::int32_t rank = 0; rank < machine.ranks; ++rank) {
    const std::int32_t node = nodes[static_cast<std::size_t>(rank)];
    if (!named[static_cast<std::size_t>(node)])
      events.push_back(metadata("process_name", node, 0, fmt::format("node {}", node)));
    named[static_cast<std::size_t>(node)] = true;
    events.push_back(metadata("thread_name", node, rank, fmt::format("rank {}", rank)));
    const sched::Program program = schedule.program(rank);
    for (const sim::Activity* activity : by_rank[static_cast<std::size_t>(rank)]) {
      const sched::Step& step = program.steps[static_cast<std::size_t>(activity->step)];
      events.push_back({{"ph", "X"},
                        {"name", name_of(activity->kind)},
                        {"cat", fmt::format("level {}", step.tag.level)},
                        {"pid", node},
                        {"tid", rank},
                        {"ts", activity->begin * microseconds},
                        {"dur", (activity->end - activity->begin) * microseconds},
                        {"args",
                         {{"slice", activity->slice},
                          {"step", fmt::format("{}: {}", activity->step, sched::to_text(step))},
                          {"bytes", activity->bytes},
                          {"peers", peers_of(step)}}}});
    }
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

} // namespace strata::tools
