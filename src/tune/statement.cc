// SPDX-License-Identifier: BSD-3-Clause
#include "tune/statement.h"

#include "base/option_rows.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::tune {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view white = " \t\r\v\f";
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; (begin = line.find_first_not_of(white, begin)) != std::string_view::npos;) {
    if (line[begin] == '#') break;
    const std::size_t end = std::min(line.find_first_of(white, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

Status check_head(const std::string& file, const Statement& head, const Format& format) {
  const std::string wanted = fmt::format("{} {}", format.name, format.version);
  if (head.words[0] != format.name || head.words.size() != 2)
    return refusal_at(file, head.line,
                      fmt::format("this is no {}: it begins with '{}', not with '{}'", format.name,
                                  printable(head.words[0]), wanted));
  if (parse_number(head.words[1]) != format.version)
    return refusal_at(
        file, head.line,
        fmt::format("{} of version '{}' is not known ({} is)", format.name, printable(head.words[1]), format.version));
  return ok();
}

Status check_end(const std::string& file, const Statement& end, std::size_t statements) {
  if (end.words.size() == 2 && parse_number(end.words[1]) == statements) return ok();
  std::string count;
  for (std::size_t i = 1; i < end.words.size(); ++i)
    count += fmt::format("{}{}", i > 1 ? " " : "", end.words[i]);
  return refusal_at(
      file, end.line,
      fmt::format("'end {}' does not fit: between the first line and this one, {} say something (write 'end "
                  "{}' if none is missing)",
                  printable(count), statements, statements));
}

} // namespace

Error refusal_at(const std::string& file, std::size_t line, const std::string& message) {
  return argument_error(fmt::format("{}:{}: {}", file, line, message));
}

Result<std::vector<Statement>> statements_of(std::string_view text, const std::string& file, const Format& format) {
  std::vector<Statement> statements;
  std::size_t line = 0;
  bool begun = false, ended = false;
  for (const std::string_view content : split(text, '\n')) {
    ++line;
    Statement statement{line, words_of(content)};
    if (statement.words.empty()) continue;
    if (ended) return refusal_at(file, line, fmt::format("'{}' comes after the end", printable(statement.words[0])));
    if (!begun) {
      if (auto status = check_head(file, statement, format); !status) return status.error();
      begun = true;
    } else if (statement.words[0] == "end") {
      if (auto status = check_end(file, statement, statements.size()); !status) return status.error();
      ended = true;
    } else {
      statements.push_back(std::move(statement));
    }
  }
  if (!begun)
    return refusal_at(file, line, fmt::format("nothing is here; '{} {}' is wanted", format.name, format.version));
  if (!ended)
    return refusal_at(
        file, line,
        fmt::format("the file is cut short: there is no 'end' ('end {}' after what is here)", statements.size()));
  return statements;
}

Result<Fields> Fields::of(const std::string& file, const Statement& statement, std::size_t first,
                          std::span<const char* const> allowed) {
  Fields fields;
  for (std::size_t i = first; i < statement.words.size(); ++i) {
    const std::string_view word = statement.words[i];
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    if (equals == std::string_view::npos || std::find(allowed.begin(), allowed.end(), key) == allowed.end())
      return refusal_at(file, statement.line,
                        fmt::format("{} takes no '{}' ({}, each with '=' and its value)", statement.words[0],
                                    printable(word), option_rows::enumerate(allowed)));
    if (fields.find(key))
      return refusal_at(file, statement.line, fmt::format("'{}' is given for the second time", key));
    fields.fields_.push_back({key, word.substr(equals + 1)});
  }
  return fields;
}

std::optional<std::string_view> Fields::find(std::string_view key) const {
  for (const Field& field : fields_)
    if (field.key == key) return field.value;
  return std::nullopt;
}

void StatementWriter::remark(std::string_view remark) { text_ += fmt::format("# {}\n", remark); }

std::string StatementWriter::finish(const Format& format, std::string_view remark) const {
  return fmt::format("{} {}\n# {}\n# 'end' counts the lines between, without remarks.\n{}end {}\n", format.name,
                     format.version, remark, text_, lines_);
}

bool is_name(std::string_view text) {
  constexpr std::size_t most = 64;
  return !text.empty() && text.size() <= most && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '+';
  });
}

} // namespace strata::tune
