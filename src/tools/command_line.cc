// SPDX-License-Identifier: BSD-3-Clause
#include "tools/command_line.h"

#include "tools/run_environment.h"

#include "config.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace strata::tools {
namespace {

CLI::Option& of(void* option) { return *static_cast<CLI::Option*>(option); }

} // namespace

struct CommandLine::App {
  explicit App(const std::string& purpose) : cli(purpose) {}

  template <typename Value>
  Option add(const char* name, Value& value, const char* placeholder, const char* text) {
    return Option(cli.add_option(name, value, text)->type_name(placeholder));
  }

  CLI::App cli;
};

const CommandLine::Option& CommandLine::Option::needs(const Option& other) const {
  of(option_).needs(&of(other.option_));
  return *this;
}

const CommandLine::Option& CommandLine::Option::excludes(const Option& other) const {
  of(option_).excludes(&of(other.option_));
  return *this;
}

const CommandLine::Option& CommandLine::Option::required() const {
  of(option_).required();
  return *this;
}

const CommandLine::Option& CommandLine::Option::is_one_of(const std::vector<std::string>& words) const {
  of(option_).check(CLI::IsMember(words));
  return *this;
}

CommandLine::CommandLine(const char* tool, const std::string& purpose)
    : tool_(tool), app_(std::make_unique<App>(purpose)) {
  app_->cli.set_version_flag("--version", tool_ + " " PACKAGE_VERSION);
  app_->cli.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  app_->cli.get_formatter()->column_width(30);
}

CommandLine::~CommandLine() = default;

CommandLine::Option CommandLine::flag(const char* name, bool& value, const char* text) {
  return Option(app_->cli.add_flag(name, value, text));
}

CommandLine::Option CommandLine::option(const char* name, std::string& value, const char* placeholder,
                                        const char* text) {
  return app_->add(name, value, placeholder, text);
}

CommandLine::Option CommandLine::several(const char* name, std::vector<std::string>& values, const char* placeholder,
                                         const char* text) {
  const Option added = app_->add(name, values, placeholder, text);
  of(added.option_).allow_extra_args(false)->take_all();
  return added;
}

CommandLine::Option CommandLine::words(const char* name, std::vector<std::string>& values, const char* placeholder,
                                       const char* text) {
  return app_->add(name, values, placeholder, text);
}

CommandLine::Option CommandLine::number(const char* name, double& value, double least, double most,
                                        const char* placeholder, const char* text) {
  const Option added = app_->add(name, value, placeholder, text);
  of(added.option_).check(CLI::Range(least, most));
  return added;
}

CommandLine::Option CommandLine::number(const char* name, std::int64_t& value, std::int64_t least, std::int64_t most,
                                        const char* placeholder, const char* text) {
  const Option added = app_->add(name, value, placeholder, text);
  of(added.option_).check(CLI::Range(least, most));
  return added;
}

std::optional<int> CommandLine::parse(int count, char** arguments) {
  try {
    app_->cli.parse(count, arguments);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return launch().rank > 0 ? 0 : app_->cli.exit(error); // --help, --version
    std::string line = error.what();
    std::replace(line.begin(), line.end(), '\n', ' ');
    return complain(tool_, line + "; see " + tool_ + " --help", bad_usage);
  }
}

} // namespace strata::tools
