// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units as the text formats write them. Writing is exact: a reader gets the same double back.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

/// "118.6MB/s" as bytes per second. B/s or bit/s, in which links are sold, with k (or K), M, G or T (powers of 1000) or
/// Ki, Mi, Gi or Ti (of 1024) before it. What is written has k, M, G or T and B/s.
Result<double> rate_from(std::string_view text);
std::string rate_text(double bytes_per_second);

/// "25us" in seconds; ns, us, ms or s.
Result<double> duration_from(std::string_view text);
std::string duration_text(double seconds);

/// "0.25": a plain number without sign.
Result<double> factor_from(std::string_view text);
std::string factor_text(double factor);

/// "2026-11-21T12:00:00Z" (ISO 8601, UTC) in seconds since the epoch, of the years 1970 to 9999.
Result<std::int64_t> time_from(std::string_view text);
std::string time_text(std::int64_t seconds);

/// `value` to four significant digits: what a measurement is good for, and short in a text.
double rounded_measurement(double value);

} // namespace strata
