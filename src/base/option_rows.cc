// SPDX-License-Identifier: BSD-3-Clause
#include "base/option_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace strata::option_rows {

const char* kept(std::string text) {
  // Never destroyed: a program may finalize MPI in an exit handler, after static objects are gone.
  static auto& texts = *new std::deque<std::string>;
  return texts.emplace_back(std::move(text)).c_str();
}

std::string enumerate(std::span<const char* const> names) {
  std::string sentence;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) sentence += i + 1 == names.size() ? " or " : ", ";
    sentence += names[i];
  }
  return sentence;
}

std::string limits_text(std::string least, std::string most, Zero zero) {
  return fmt::format("{}{} to {}", zero == Zero::allowed ? "0, or " : "", least, most);
}

bool within(std::uint64_t value, std::uint64_t least, std::uint64_t most, Zero zero) {
  return (value == 0 && zero == Zero::allowed) || (least <= value && value <= most);
}

bool is_printable(const std::string& value) {
  // Bytes from 0x80 on may be UTF-8 in a path.
  return std::none_of(value.begin(), value.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
}

bool split_words(const std::string& value, std::vector<std::string>& words) {
  for (std::string_view part : split(value, ',')) {
    const std::string word(trim(part));
    if (word.empty() || std::find(words.begin(), words.end(), word) != words.end()) return false;
    words.push_back(word);
  }
  return true;
}

std::string joined(std::span<const std::string> words) {
  return fmt::format("{}", fmt::join(words.begin(), words.end(), ","));
}

} // namespace strata::option_rows
