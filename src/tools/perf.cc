// SPDX-License-Identifier: BSD-3-Clause
// strata-perf as a person starts it: it checks the command line, and becomes its sibling for the MPI library.
#include "tools/perf.h"
#include "tools/complaint.h"
#include "tools/run_environment.h"

int main(int count, char** arguments) {
  using namespace strata::tools;
  PerfFlags flags;
  if (const auto status = parse(flags, count, arguments)) return *status;
  const auto program = mpi_program("strata-perf");
  if (!program) return complain("strata-perf", program.error().message, bad_usage);
  return complain("strata-perf", start(*program, arguments).message, 1);
}
