// SPDX-License-Identifier: BSD-3-Clause
// What all tools say: results to standard output, trouble to standard error.
#pragma once

#include "base/written_file.h"

#include <string>
#include <string_view>

namespace strata::tools {

inline constexpr int bad_usage = 2;

/// Writes "TOOL: `line`" to standard error (under a launcher, rank 0 only) and gives `status` back.
int complain(const std::string& tool, const std::string& line, int status);

/// Writes to a file, or to standard output where `file` is empty; the exit status, with a complaint where it is not 0.
int write_out(const std::string& tool, const std::string& file, std::string_view text,
              Existing existing = Existing::replaced);

} // namespace strata::tools
