// SPDX-License-Identifier: BSD-3-Clause
// The line writer. The library is silent unless asked: callers check the option (or that rank 0 has complaints about
// options) before they write.
#pragma once

#include <string_view>

namespace strata {

/// Writes "strata: `line`\n" to standard error with one write(2), so that lines of several ranks do not mix.
void log_line(std::string_view line);

} // namespace strata
