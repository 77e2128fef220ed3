// SPDX-License-Identifier: BSD-3-Clause
// strata-sim --plan: what planning costs one rank of a job that is too large to be simulated.
#include "tools/sim.h"
#include "topo/regular.h"

#include "base/elapsed.h"
#include "base/text.h"

#include <fmt/format.h>

#include <chrono>

namespace strata::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// Ends of messages in a program.
std::size_t messages_of(const sched::Program& program) {
  std::size_t ends = 0;
  for (const sched::Step& step : program.steps) {
    ends += step.peers.size();
    for (const sched::Operand& operand : step.operands)
      if (operand.kind == sched::Operand::Kind::message) ++ends;
  }
  return ends;
}

} // namespace

Result<std::string> planning_of(const SimFlags& flags) {
  const auto regular = topo::regular_from(flags.hierarchy);
  if (!regular)
    return argument_error(fmt::format("--plan is for ranks that are dealt out regularly: mapping slot or "
                                      "node, and as many ranks in each group as in the others (here {})",
                                      flags.mapping));
  std::string text =
      fmt::format("{} ranks; planning of rank {}\n{:>12}  {:>12}  {:>12}  {:>8}  {:>8}  schedule\n", regular->ranks,
                  *flags.planned_rank, "bytes", "choosing", "program", "steps", "messages");
  for (const std::uint64_t bytes : flags.sizes) {
    Options options;
    options.slice = flags.slice;
    options.window = flags.window;
    if (!flags.compositions.empty()) options.algorithm = hier::to_text(flags.compositions.front());
    const auto begin = Clock::now();
    const tune::Situation situation = situation_of(flags.machine, tune::shape_of(*regular));
    const tune::Choice choice = tune::choose(situation, options, tune::size_class(bytes));
    const double choosing = seconds_since(begin);
    const auto chosen = Clock::now();
    const sched::Program program = hier::AllReduce(*regular, choice.chosen.composition).program(*flags.planned_rank);
    text += fmt::format("{:>12}  {:>12}  {:>12}  {:>8}  {:>8}  {}\n", bytes, format_duration(choosing),
                        format_duration(seconds_since(chosen)), program.steps.size(), messages_of(program),
                        choice.chosen.name());
  }
  return text;
}

} // namespace strata::tools
