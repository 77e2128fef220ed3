// SPDX-License-Identifier: BSD-3-Clause
// Small pieces of parsing that options, hand-set levels and file formats share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// `text` without white space at its ends.
std::string_view trim(std::string_view text);

/// The parts between the separators: one more than there are separators, empty ones included.
std::vector<std::string_view> split(std::string_view text, char separator);

/// Decimal digits only, without sign; nothing when there is anything else or the number does not fit.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// `text` fit for one line of a message: unprintable bytes become '?', and a long text is cut, with "..." at its end.
std::string printable(std::string_view text);

/// "0.35 us" or "12.50 ms".
std::string format_duration(double seconds);

/// Least number of insertions, removals, replacements and swaps of neighbours that turn one into the other.
std::size_t edit_distance(std::string_view one, std::string_view other);

} // namespace strata
