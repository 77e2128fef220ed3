// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sim.h"

#include "trace/timeline.h"

namespace strata::tools {
namespace {

/// What one rank does, in the order of time.
void add_rank(std::string& text, trace::Row row, const sched::Program& program,
              const std::vector<const sim::Activity*>& activities, double finish) {
  std::vector<trace::StepName> names;
  for (std::size_t step = 0; step < program.steps.size(); ++step)
    names.push_back(trace::step_name(program, static_cast<sched::StepIndex>(step)));
  double idle_since = 0;
  for (const sim::Activity* activity : activities) {
    if (activity->begin > idle_since) trace::add_wait(text, row, {idle_since, activity->begin}, 1);
    trace::add_step(text, row, {activity->begin, activity->end}, names[static_cast<std::size_t>(activity->step)], 1,
                    activity->slice, activity->bytes);
    idle_since = activity->end;
  }
  if (finish > idle_since) trace::add_wait(text, row, {idle_since, finish}, 1);
}

} // namespace

std::string trace_of(const sim::Machine& machine, const hier::AllReduce& schedule, const SimRow& run) {
  std::string text = trace::timeline_head();
  const auto nodes = sim::nodes_of(machine);
  std::vector<bool> named(nodes.size(), false);
  std::vector<std::vector<const sim::Activity*>> by_rank(nodes.size());
  for (const sim::Activity& activity : run.outcome.timeline)
    by_rank[static_cast<std::size_t>(activity.rank)].push_back(&activity);
  for (std::int32_t rank = 0; rank < machine.ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const trace::Row row{nodes[index], rank};
    if (!named[static_cast<std::size_t>(row.node)]) trace::name_node(text, row.node, "");
    named[static_cast<std::size_t>(row.node)] = true;
    trace::name_rank(text, row);
    const double finish = run.outcome.finish[index];
    trace::add_call(text, row, {0, finish}, {run.algorithm, machine.ranks}, 1, run.bytes);
    add_rank(text, row, schedule.program(rank), by_rank[index], finish);
  }
  return text + trace::timeline_tail("");
}

} // namespace strata::tools
