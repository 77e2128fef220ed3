// SPDX-License-Identifier: BSD-3-Clause
#include "sim/simulator.h"

#include "sim/simulation.h"

#include <fmt/format.h>

#include <limits>

namespace strata::sim {
namespace {

constexpr std::size_t most_in_flight = std::size_t{1} << 30; // steps: 4 GiB

Status check(const Machine& machine, const Workload& workload, const Load& load) {
  if (workload.ranks() != machine.ranks)
    return argument_error(fmt::format("programs of {} ranks for a machine of {}", workload.ranks(), machine.ranks));
  if (!workload.messages().empty() && machine.tiers.empty())
    return argument_error("messages, but nothing that joins the ranks");
  if (load.element_bytes < 1 || load.bytes < 0 || load.bytes % load.element_bytes != 0)
    return argument_error(
        fmt::format("{} bytes are no multiple of elements of {} bytes", load.bytes, load.element_bytes));
  if (load.slice_bytes < 1) return argument_error(fmt::format("slices of {} bytes; at least 1", load.slice_bytes));
  if (load.window < 1) return argument_error("a window of 0 slices; at least 1");
  return ok();
}

} // namespace

const Use* Outcome::busiest() const {
  const Use* found = nullptr;
  // Equal sums of times differ by their rounding.
  for (const Use& use : uses)
    if (use.busy > (found == nullptr ? 0 : found->busy * (1 + 1e-9))) found = &use;
  return found;
}

Result<Outcome> simulate(const Machine& machine, const Workload& workload, const Load& load) {
  if (const Status sound = check(machine, workload, load); !sound) return sound.error();
  // As Plan::submit cuts a vector.
  const std::int64_t elements = load.bytes / load.element_bytes;
  const std::int64_t most = std::max<std::int64_t>(1, load.slice_bytes / load.element_bytes);
  const std::int64_t slices = elements / most + (elements % most != 0);
  const auto steps = std::max<std::int64_t>(1, workload.steps());
  if (slices > most_step_runs / steps)
    return Error{ErrorKind::resource,
                 fmt::format("{} slices of {} steps are more than the {} steps that are simulated; take larger slices, "
                             "fewer bytes or fewer ranks",
                             slices, steps, most_step_runs)};
  Load bounded = load; // no more in flight than there are
  bounded.window = static_cast<std::uint32_t>(std::clamp<std::int64_t>(slices, 1, load.window));
  if (bounded.window > most_in_flight / static_cast<std::size_t>(steps))
    return Error{ErrorKind::resource, fmt::format("a window of {} slices of {} steps does not fit; {} steps at most",
                                                  load.window, steps, most_in_flight)};
  return Simulation(machine, workload, bounded, static_cast<std::int32_t>(slices)).run();
}

} // namespace strata::sim
