// SPDX-License-Identifier: BSD-3-Clause
// In place of perf_plot.cc where pugixml is missing.
#include "base/text.h"
#include "tools/perf.h"

namespace strata::tools {

Status plot(const std::string& file, const PerfFlags&, const PerfRun&) {
  return Error{ErrorKind::unsupported, "cannot draw " + printable(file) + ": built without pugixml"};
}

} // namespace strata::tools
