// SPDX-License-Identifier: BSD-3-Clause
// Files that are there whole or not at all.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace strata::tools {

/// Writes `text` to a new file beside `file` and renames it, so that nobody sees half of it and a failure leaves what
/// was there. Refuses to replace what is no regular file: a directory, a device, a symbolic link.
Status write_whole(const std::string& file, std::string_view text);

} // namespace strata::tools
