// SPDX-License-Identifier: BSD-3-Clause
// Files that are there whole or not at all.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace strata::tools {

/// What becomes of a file that is there already.
enum class Existing { replaced, kept };

/// Writes `text` to a new file beside `file` and renames it, so that nobody sees half of it and a failure leaves what
/// was there. Refuses to replace what is no regular file: a directory, a device, a symbolic link; and any file that is
/// to be kept.
Status write_whole(const std::string& file, std::string_view text, Existing existing = Existing::replaced);

/// Whether that would be refused as things stand, before there is a text; it leaves nothing behind.
Status check_writable(const std::string& file, Existing existing);

/// False when it could not be written.
bool write_to_standard_output(std::string_view text);

} // namespace strata::tools
