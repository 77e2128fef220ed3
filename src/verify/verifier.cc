// SPDX-License-Identifier: BSD-3-Clause
#include "verify/verifier.h"

#include "verify/form.h"
#include "verify/progress.h"
#include "verify/races.h"
#include "verify/symbolic.h"

namespace strata::verify {

Status verify(std::span<const sched::Program> programs, const Contract& contract) {
  if (Status status = check_form(programs, contract); !status) return status; // rule 1
  const auto graph = StepGraph::join(programs);                               // rule 2
  if (!graph) return graph.error();
  const auto order = run_strictly(*graph); // rule 3
  if (!order) return order.error();
  const Intervals intervals(programs, contract);
  if (Status status = check_races(*graph, intervals); !status) return status; // rule 5
  return run_symbolically(*graph, intervals, *order, contract);               // rules 4 and 6
}

} // namespace strata::verify
