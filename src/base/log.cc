// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.h"

#include <cerrno>
#include <string>

#include <unistd.h>

namespace strata {

void log_line(std::string_view line) {
  std::string text;
  text.reserve(line.size() + 9);
  text.append("strata: ").append(line).push_back('\n');
  const int saved = errno;
  // A log that cannot be written is lost: there is nowhere else to say so.
  while (write(STDERR_FILENO, text.data(), text.size()) < 0 && errno == EINTR) {
  }
  errno = saved;
}

} // namespace strata
