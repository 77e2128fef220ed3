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

Result<std::string> text_of_open(int descriptor, std::size_t most_bytes) {
  std::string text;
  for (char part[1 << 16];;) {
    const ssize_t got = ::read(descriptor, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{ErrorKind::resource, std::strerror(errno)};
    if (got == 0) return text;
    if (text.append(part, static_cast<std::size_t>(got)).size() > most_bytes)
      return argument_error(fmt::format("it is larger than {}", format_bytes(most_bytes)));
  }
}

Result<std::string> text_of_file(const std::string& path, std::size_t most_bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return argument_error(std::strerror(errno));
  struct stat facts {};
  const bool ordinary = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  auto text = ordinary ? text_of_open(file, most_bytes) : Result<std::string>(argument_error("it is no ordinary file"));
  ::close(file);
  return text;
}

} // namespace strata
