// SPDX-License-Identifier: BSD-3-Clause
// What a process may map that has a limit on its address space (setrlimit(2), RLIMIT_AS): `ulimit -v`, and the memory
// limits of some schedulers. Programs and the libraries that they open later seldom survive a refusal, so most of what
// is left is theirs.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace strata {

/// Bytes that this process may still map; nothing when it has no limit, or it cannot be known. Any thread.
std::optional<std::uint64_t> address_space_left();

/// How many bytes to reserve where `wanted` would do and `processes` of them are mapped by each of as many processes:
/// `wanted`, or less under a limit. Any thread.
std::size_t fair_share(std::size_t wanted, std::uint64_t processes);

/// The largest file that this process may have (RLIMIT_FSIZE, `ulimit -f`): the kernel ends one that goes beyond, also
/// where the file is memory with a descriptor. Any thread.
std::uint64_t largest_file();

/// An error unless strata may map that much more for `what`: a quarter of what is left. Any thread.
Status may_map(std::uint64_t bytes, const std::string& what);

} // namespace strata
