// SPDX-License-Identifier: BSD-3-Clause
// The line on a terminal that says how far a tool is.
#pragma once

#include <string>

namespace strata::tools {

/// Whether what this process writes to standard error appears on a terminal: because that is one, or because the
/// launcher that started it reads it from a pipe, and has a terminal itself.
bool shows_on_terminal();

class ProgressLine {
public:
  explicit ProgressLine(bool wanted) : wanted_(wanted && shows_on_terminal()) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// In place of the line before.
  void show(const std::string& line);
  void clear();

private:
  bool wanted_, shown_ = false;
};

} // namespace strata::tools
