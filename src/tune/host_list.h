// SPDX-License-Identifier: BSD-3-Clause
// Lists of host names as Slurm writes them: "n[1-4,7],login", "rack[1-2]n[01-16]".
#pragma once

#include "base/result.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata::tune {

/// More hosts than this are refused: twice the nodes of the largest machines, and no list can fill the memory.
inline constexpr std::size_t most_hosts = std::size_t{1} << 18;

/// Letters, digits, '-', '_' and '.', 255 at most.
bool is_host_name(std::string_view text);

/// The names in the order of the list; refuses more than `most`. Digits keep their leading zeros, as in [08-10].
Result<std::vector<std::string>> hosts_of(std::string_view list, std::size_t most = most_hosts);

/// A short list of sorted hosts, as items that a comma joins. Names are folded by the last number of their part
/// before the first dot.
std::vector<std::string> host_items(std::span<const std::string> hosts);

} // namespace strata::tune
