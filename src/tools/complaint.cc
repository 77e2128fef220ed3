// SPDX-License-Identifier: BSD-3-Clause
#include "tools/complaint.h"

#include "tools/run_environment.h"

#include <cstdio>

namespace strata::tools {

int complain(const std::string& tool, const std::string& line, int status) {
  if (launch().rank <= 0) std::fprintf(stderr, "%s: %s\n", tool.c_str(), line.c_str());
  return status;
}

bool write_to_standard_output(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

} // namespace strata::tools
