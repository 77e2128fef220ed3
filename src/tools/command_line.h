// SPDX-License-Identifier: BSD-3-Clause
// How all tools read their command lines: --help and --version, and one line and status 2 for what is wrong.
#pragma once

#include "tools/complaint.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace strata::tools {

/// Adds --version, and makes every flag that comes twice an error.
void prepare(CLI::App& app, const std::string& tool);

/// Parses; the exit status when the tool is to end now. Under a launcher, only rank 0 writes the line.
std::optional<int> parse(CLI::App& app, const std::string& tool, int count, char** arguments);

} // namespace strata::tools
