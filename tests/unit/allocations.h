// SPDX-License-Identifier: BSD-3-Clause
// Counts what the calling thread allocates with operator new.
#pragma once

#include <cstdint>

namespace strata::allocations {

std::uint64_t of_this_thread();
/// All that it ever asked for, in bytes, freed or not.
std::uint64_t bytes_of_this_thread();

} // namespace strata::allocations
