// SPDX-License-Identifier: BSD-3-Clause
#include "tools/command_line.h"

#include "tools/run_environment.h"

#include "config.h"

#include <algorithm>

namespace strata::tools {

void prepare(CLI::App& app, const std::string& tool) {
  app.set_version_flag("--version", tool + " " PACKAGE_VERSION);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  app.get_formatter()->column_width(30);
}

std::optional<int> parse(CLI::App& app, const std::string& tool, int count, char** arguments) {
  try {
    app.parse(count, arguments);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return launch().rank > 0 ? 0 : app.exit(error); // --help, --version
    std::string line = error.what();
    std::replace(line.begin(), line.end(), '\n', ' ');
    return complain(tool, line + "; see " + tool + " --help", bad_usage);
  }
}

} // namespace strata::tools
