// SPDX-License-Identifier: BSD-3-Clause
// strata-probe: measures the links between the nodes of a job.
#pragma once

#include <optional>
#include <string>

namespace strata::tools {

struct ProbeFlags {
  std::string svg;    ///< file for the heat maps of pairs of nodes; empty: none
  std::string output; ///< file for the profile; empty: standard output
};

/// The exit status when the tool is to end now.
std::optional<int> parse(ProbeFlags& flags, int count, char** arguments);

} // namespace strata::tools
