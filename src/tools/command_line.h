// SPDX-License-Identifier: BSD-3-Clause
// How all tools read their command lines: --help and --version, and one line and status 2 for what is wrong. CLI11 does
// it; its header, which takes the compiler many seconds, is included by command_line.cc alone.
#pragma once

#include "tools/complaint.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace strata::tools {

/// What a tool understands. The values are written by parse(); those of options that were not given stay as they are.
/// An option may come once, but for those of several().
class CommandLine {
public:
  /// An option among the others. Valid as long as its CommandLine.
  class Option {
  public:
    /// Not without the other one.
    const Option& needs(const Option& other) const;
    /// Not beside the other one.
    const Option& excludes(const Option& other) const;
    const Option& required() const;
    /// Nothing but one of these words.
    const Option& is_one_of(const std::vector<std::string>& words) const;

  private:
    friend class CommandLine;
    explicit Option(void* option) : option_(option) {}
    void* option_; // CLI::Option
  };

  CommandLine(const char* tool, const std::string& purpose);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// --name, which sets `value`.
  Option flag(const char* name, bool& value, const char* text);
  /// --name PLACEHOLDER, or the next word without a --name if `name` has no dashes. The names of one option are
  /// separated by commas.
  Option option(const char* name, std::string& value, const char* placeholder, const char* text);
  /// --name PLACEHOLDER, as often as wanted.
  Option several(const char* name, std::vector<std::string>& values, const char* placeholder, const char* text);
  /// All further words.
  Option words(const char* name, std::vector<std::string>& values, const char* placeholder, const char* text);
  /// A number from `least` to `most`.
  Option number(const char* name, double& value, double least, double most, const char* placeholder, const char* text);
  Option number(const char* name, std::int64_t& value, std::int64_t least, std::int64_t most, const char* placeholder,
                const char* text);

  /// The exit status when the tool is to end now. Under a launcher, only rank 0 writes the line.
  std::optional<int> parse(int count, char** arguments);

private:
  struct App;
  std::string tool_;
  std::unique_ptr<App> app_;
};

} // namespace strata::tools
