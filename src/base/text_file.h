// SPDX-License-Identifier: BSD-3-Clause
// Reading a text that a user named.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <string>

namespace strata {

/// The whole of an ordinary file of at most `most_bytes`; a device or a pipe might never end. The error is the reason
/// alone, without the name of the file.
Result<std::string> text_of_file(const std::string& path, std::size_t most_bytes);

/// The rest of an open file, likewise.
Result<std::string> text_of_open(int descriptor, std::size_t most_bytes);

} // namespace strata
