// SPDX-License-Identifier: BSD-3-Clause
// strata-probe as a person starts it: it checks the command line, and becomes its sibling for the MPI library.
#include "tools/probe.h"
#include "tools/complaint.h"
#include "tools/run_environment.h"

int main(int count, char** arguments) {
  using namespace strata::tools;
  ProbeFlags flags;
  if (const auto status = parse(flags, count, arguments)) return *status;
  const auto program = mpi_program("strata-probe");
  if (!program) return complain("strata-probe", program.error().message, bad_usage);
  return complain("strata-probe", start(*program, arguments).message, 1);
}
