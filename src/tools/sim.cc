// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sim.h"
#include "tools/complaint.h"

int main(int count, char** arguments) {
  using namespace strata;
  using namespace strata::tools;
  SimFlags flags;
  if (const auto status = parse(flags, count, arguments)) return *status;
  if (flags.planned_rank) {
    const auto text = planning_of(flags);
    if (!text) return complain("strata-sim", text.error().message, 1);
    return write_out("strata-sim", "", *text);
  }
  const auto rows = simulate_all(flags);
  if (!rows) return complain("strata-sim", rows.error().message, 1);
  if (!flags.trace_file.empty()) {
    const hier::AllReduce schedule(flags.hierarchy, flags.compositions.front());
    const std::string trace = trace_of(flags.machine, schedule, rows->front());
    if (const int status = write_out("strata-sim", flags.trace_file, trace); status != 0) return status;
  }
  return write_out("strata-sim", "", flags.as_json ? document_of(flags, *rows) : table_of(flags, *rows));
}
