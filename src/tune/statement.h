// SPDX-License-Identifier: BSD-3-Clause
// What the text formats have in common: lines of words, remarks from a word that begins with '#' to the end of a line,
// the name and version of the format on the first line, and a last line that tells how many there should be:
//
//     strata-profile 1
//     # for people
//     measured 2026-11-21T12:00:00Z ucx    # so are the ends of lines
//     host n1 n2
//     end 2
//
// A file that was cut short has no such end, or says more lines than it has.
#pragma once

#include "base/result.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata::tune {

/// A line that says something. The words are views of the text that was read.
struct Statement {
  std::size_t line = 0; ///< in the file, from 1
  std::vector<std::string_view> words;
};

struct Format {
  std::string_view name;
  std::uint64_t version;
};
inline constexpr Format profile_format{"strata-profile", 1};
inline constexpr Format table_format{"strata-table", 1};

/// The error of a place in a file: "profile.txt:7: `message`".
Error refusal_at(const std::string& file, std::size_t line, const std::string& message);

/// The statements between the first line and the end, whose count is checked.
Result<std::vector<Statement>> statements_of(std::string_view text, const std::string& file, const Format& format);

/// The KEY=VALUE words of a statement.
class Fields {
public:
  /// Of the words from `first` on; each key is one of `allowed` and comes at most once.
  static Result<Fields> of(const std::string& file, const Statement& statement, std::size_t first,
                           std::span<const char* const> allowed);
  std::optional<std::string_view> find(std::string_view key) const;
  bool empty() const { return fields_.empty(); }

private:
  struct Field {
    std::string_view key, value;
  };
  std::vector<Field> fields_;
};

/// Writes such a file, and counts what it has to.
class StatementWriter {
public:
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
    text_ += fmt::format(form, std::forward<Arguments>(arguments)...) + '\n';
    ++lines_;
  }
  /// A remark of its own line.
  void remark(std::string_view remark);
  /// The whole text, with a remark that tells what it is.
  std::string finish(const Format& format, std::string_view remark) const;

private:
  std::string text_;
  std::size_t lines_ = 0;
};

/// Whether `text` may be a name: letters, digits and any of "-_.+", 64 at most.
bool is_name(std::string_view text);

} // namespace strata::tune
