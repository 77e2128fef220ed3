// SPDX-License-Identifier: BSD-3-Clause
// How all tools treat their command lines: --help and --version, and one line and status 2 for what is wrong.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace strata::tools {

inline constexpr int bad_usage = 2;

/// Adds --version, and makes every flag that comes twice an error.
void prepare(CLI::App& app, const std::string& tool);

/// Parses; the exit status when the tool is to end now. Under a launcher, only rank 0 writes the line.
std::optional<int> parse(CLI::App& app, const std::string& tool, int count, char** arguments);

/// Writes "TOOL: `line`" to standard error (under a launcher, rank 0 only) and gives `status` back.
int complain(const std::string& tool, const std::string& line, int status);

/// False when it could not be written.
bool write_to_standard_output(std::string_view text);

} // namespace strata::tools
