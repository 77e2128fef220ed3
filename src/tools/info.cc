// SPDX-License-Identifier: BSD-3-Clause
#include "tools/info.h"
#include "tools/complaint.h"
#include "tools/run_environment.h"

#include <nlohmann/json.hpp>

int main(int count, char** arguments) {
  using namespace strata::tools;
  InfoFlags flags;
  if (const auto status = parse(flags, count, arguments)) return *status;
  if (launch().launched) {
    const auto program = mpi_program("strata-info");
    if (program) complain("strata-info", start(*program, arguments).message, 1);
    // Without its sibling it shows what it can, once.
    if (launch().rank > 0) return 0;
    complain("strata-info", program ? "the job is not shown" : program.error().message, 0);
  }
  return show(flags, installation_facts());
}
