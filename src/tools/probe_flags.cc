// SPDX-License-Identifier: BSD-3-Clause
#include "tools/command_line.h"
#include "tools/probe.h"

namespace strata::tools {

std::optional<int> parse(ProbeFlags& flags, int count, char** arguments) {
  CLI::App app("Measures the links between the nodes of a job, all nodes at once, and prints them as a profile. Run it "
               "under mpirun.");
  prepare(app, "strata-probe");
  app.add_option("--output", flags.output, "write the profile to FILE, at once, instead of to standard output")
      ->type_name("FILE");
  app.add_option("--svg", flags.svg, "draw latency and bandwidth of each pair of nodes into FILE")->type_name("FILE");
  return parse(app, "strata-probe", count, arguments);
}

} // namespace strata::tools
