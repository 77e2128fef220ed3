// SPDX-License-Identifier: BSD-3-Clause
// What all tools say: results to standard output, trouble to standard error.
#pragma once

#include <string>
#include <string_view>

namespace strata::tools {

inline constexpr int bad_usage = 2;

/// Writes "TOOL: `line`" to standard error (under a launcher, rank 0 only) and gives `status` back.
int complain(const std::string& tool, const std::string& line, int status);

/// False when it could not be written.
bool write_to_standard_output(std::string_view text);

} // namespace strata::tools
