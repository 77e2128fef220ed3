// SPDX-License-Identifier: BSD-3-Clause
// A folder of the user's for what is kept between processes. Nobody else may have written to it; several processes may
// write to it at once, and a reader sees a file as one of them left it, never a part.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace strata {

/// The whole file `name` of the folder; nothing when the folder or the file is not there. An error when somebody else
/// owns either or may write to it, and when it is no ordinary file or larger than `most_bytes`. Symbolic links to a
/// folder of the user's are followed, a file that is one is not.
Result<std::optional<std::string>> read_private(const std::string& folder, const std::string& name,
                                                std::size_t most_bytes);

/// Puts the text in place of the file `name`, at once and lastingly. The folder, and what is missing above it, is made
/// for the user alone. An error leaves what was there before; so it does in a program that runs with more rights than
/// its user, which must not be led to write. Also removes what writers that died have left for an hour.
Status replace_private(const std::string& folder, const std::string& name, std::string_view text);

} // namespace strata
