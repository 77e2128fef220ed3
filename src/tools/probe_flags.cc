// SPDX-License-Identifier: BSD-3-Clause
#include "tools/command_line.h"
#include "tools/probe.h"

namespace strata::tools {

std::optional<int> parse(ProbeFlags& flags, int count, char** arguments) {
  CommandLine line("strata-probe", "Measures the links between the nodes of a job, all nodes at once, and prints them "
                                   "as a profile. Run it under mpirun.");
  line.option("--output", flags.output, "FILE", "write the profile to FILE, at once, instead of to standard output");
  line.option("--svg", flags.svg, "FILE", "draw latency and bandwidth of each pair of nodes into FILE");
  return line.parse(count, arguments);
}

} // namespace strata::tools
