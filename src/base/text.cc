// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace strata {

std::string_view trim(std::string_view text) {
  constexpr std::string_view white = " \t\r\n\v\f";
  const auto begin = text.find_first_not_of(white);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(white) - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string printable(std::string_view text) {
  constexpr std::size_t most = 80;
  std::string line(text.substr(0, most));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (text.size() > most) line += "...";
  return line;
}

std::size_t edit_distance(std::string_view one, std::string_view other) {
  // Rows of the dynamic programme (Damerau 1964, swaps of neighbours only): for the last two prefixes of `one`.
  std::vector<std::size_t> before(other.size() + 1), above(other.size() + 1), row(other.size() + 1);
  for (std::size_t j = 0; j <= other.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[other.size()];
}

std::string format_duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  return fmt::format("{:.2f} ms", seconds * 1e3);
}

} // namespace strata
