// SPDX-License-Identifier: BSD-3-Clause
// strata-tune as a person starts it: it checks the command line, and becomes its sibling for the MPI library.
#include "tools/tune.h"
#include "tools/complaint.h"
#include "tools/run_environment.h"

int main(int count, char** arguments) {
  using namespace strata::tools;
  TuneFlags flags;
  if (const auto status = parse(flags, count, arguments)) return *status;
  const auto program = mpi_program("strata-tune");
  if (!program) return complain("strata-tune", program.error().message, bad_usage);
  return complain("strata-tune", start(*program, arguments).message, 1);
}
