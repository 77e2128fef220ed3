// SPDX-License-Identifier: BSD-3-Clause
#include "tools/complaint.h"

#include "tools/run_environment.h"

#include <cstdio>

namespace strata::tools {

int complain(const std::string& tool, const std::string& line, int status) {
  if (launch().rank <= 0) std::fprintf(stderr, "%s: %s\n", tool.c_str(), line.c_str());
  return status;
}

int write_out(const std::string& tool, const std::string& file, std::string_view text, Existing existing) {
  if (file.empty()) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return written ? 0 : complain(tool, "cannot write to standard output", 1);
  }
  const Status written = write_whole(file, text, existing);
  return written ? 0 : complain(tool, written.error().message, 1);
}

} // namespace strata::tools
