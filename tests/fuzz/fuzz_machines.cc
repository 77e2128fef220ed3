// SPDX-License-Identifier: BSD-3-Clause
// Machine lines: a mapping on the first line, levels on the second. What is taken makes a hierarchy that keeps its
// invariants, and if it is small, a schedule runs on it to its end; what is not is refused with its column.
#include "fuzz.h"
#include "hier/composition.h"
#include "sim/simulator.h"

#include <cmath>

using namespace strata;

namespace {

void run(const sim::Machine& machine, const topo::Hierarchy& hierarchy) {
  const auto composition = hier::composition_from("direct", hierarchy);
  fuzz::require(static_cast<bool>(composition));
  const hier::AllReduce schedule(hierarchy, *composition);
  const auto workload = sim::Workload::from(machine.ranks, [&](std::int32_t rank) { return schedule.program(rank); });
  fuzz::require(static_cast<bool>(workload));
  const auto outcome = sim::simulate(machine, *workload, {1000, 300, 2, 4, true});
  fuzz::require(static_cast<bool>(outcome));
  fuzz::require(std::isfinite(outcome->seconds) && outcome->seconds >= 0.999999 * sim::bound_of(machine, 1000));
  for (const sim::Activity& activity : outcome->timeline)
    fuzz::require(activity.begin <= activity.end && activity.end <= outcome->seconds);
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  const auto end = text.find('\n');
  if (end == std::string::npos) return 0;
  const auto mapping = sim::mapping_from(text.substr(0, end));
  fuzz::require(mapping || !mapping.error().message.empty());
  const auto line = sim::machine_line_from(text.substr(end + 1));
  if (!line) {
    fuzz::require(line.error().message.starts_with("column "));
    return 0;
  }
  std::int64_t places = 1;
  for (const sim::LineLevel& level : line->levels)
    places *= level.count;
  fuzz::require(line->ranks >= 1 && line->ranks <= places && places <= sim::most_ranks);
  if (places > 4096) return 0; // right, and slow
  const sim::Machine machine = sim::machine_from(*line, mapping ? *mapping : sim::Mapping{});
  const topo::Hierarchy hierarchy = sim::hierarchy_of(machine);
  fuzz::require(static_cast<bool>(topo::check(hierarchy)) && hierarchy.ranks == line->ranks);
  if (machine.ranks <= 32) run(machine, hierarchy);
  return 0;
}
