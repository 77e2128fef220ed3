// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace strata {

/// The least multiple of `unit` that is not below `bytes`.
constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

} // namespace strata
