// SPDX-License-Identifier: BSD-3-Clause
// The line on a terminal that says how far a tool is.
#pragma once

#include <cstdio>
#include <string>

#include <unistd.h>

namespace strata::tools {

class ProgressLine {
public:
  explicit ProgressLine(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const std::string& line) {
    if (wanted_) std::fprintf(stderr, "\r\033[K%s", line.c_str());
    shown_ = wanted_;
  }
  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

private:
  bool wanted_, shown_ = false;
};

} // namespace strata::tools
