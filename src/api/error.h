// SPDX-License-Identifier: BSD-3-Clause
// Errors across the C boundary: a code, and one line that each thread keeps.
#pragma once

#include "base/result.h"

#include <string_view>

namespace strata::api {

/// Keeps the message for strata_last_error_message() in this thread, and gives the code to return.
int fail(ErrorKind kind, std::string_view message) noexcept;
int fail(const Error& error) noexcept;

/// For an exception of the standard library: the only one that our code lets through is that memory ran out.
int fail_for_memory() noexcept;

} // namespace strata::api
