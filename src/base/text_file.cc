// SPDX-License-Identifier: BSD-3-Clause
#include "base/text_file.h"

#include "base/options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace strata {

Result<std::string> text_of_file(const std::string& path, std::size_t most_bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return Error{ErrorKind::argument, std::strerror(errno)};
  struct stat facts {};
  std::string text;
  std::string why;
  if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) why = "it is no ordinary file";
  char part[1 << 16];
  for (ssize_t got = 0; why.empty() && (got = ::read(file, part, sizeof part)) != 0;) {
    if (got < 0)
      why = std::strerror(errno);
    else if (text.append(part, static_cast<std::size_t>(got)).size() > most_bytes)
      why = fmt::format("it is larger than {}", format_bytes(most_bytes));
  }
  ::close(file);
  if (!why.empty()) return Error{ErrorKind::argument, why};
  return text;
}

} // namespace strata
