// SPDX-License-Identifier: BSD-3-Clause
// In place of perf_plot.cc where pugixml is missing.
#include "tools/perf.h"

namespace strata::tools {

Result<std::string> plot(const PerfFlags&, const PerfRun&) {
  return Error{ErrorKind::unsupported, "times cannot be drawn: built without pugixml"};
}

} // namespace strata::tools
