// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sim.h"
#include "base/written_file.h"
#include "tools/complaint.h"

int main(int count, char** arguments) {
  using namespace strata;
  using namespace strata::tools;
  SimFlags flags;
  if (const auto status = parse(flags, count, arguments)) return *status;
  if (flags.planned_rank) {
    const auto text = planning_of(flags);
    if (!text) return complain("strata-sim", text.error().message, 1);
    return write_to_standard_output(*text) ? 0 : complain("strata-sim", "cannot write to standard output", 1);
  }
  const auto rows = simulate_all(flags);
  if (!rows) return complain("strata-sim", rows.error().message, 1);
  if (!flags.trace_file.empty()) {
    const hier::AllReduce schedule(flags.hierarchy, flags.compositions.front());
    const std::string trace = trace_of(flags.machine, schedule, rows->front());
    if (const Status written = write_whole(flags.trace_file, trace); !written)
      return complain("strata-sim", written.error().message, 1);
  }
  const std::string text = flags.as_json ? document_of(flags, *rows) : table_of(flags, *rows);
  return write_to_standard_output(text) ? 0 : complain("strata-sim", "cannot write to standard output", 1);
}
