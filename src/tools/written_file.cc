// SPDX-License-Identifier: BSD-3-Clause
#include "tools/written_file.h"

#include "base/text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace strata::tools {
namespace {

Error failure(const std::string& file, const std::string& reason) {
  return {ErrorKind::resource, fmt::format("cannot write {}: {}", printable(file), reason)};
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

} // namespace

Status write_whole(const std::string& file, std::string_view text) {
  struct stat there {};
  if (::lstat(file.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) return failure(file, "it is a directory");
    if (!S_ISREG(there.st_mode)) return failure(file, "it is there, and is no regular file");
  }
  // Not mkstemp, whose file only its owner may read.
  const std::string beside = fmt::format("{}.{}.part", file, ::getpid());
  const int descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return failure(file, std::strerror(errno));
  bool written = write_all(descriptor, text);
  int reason = errno;
  if (::close(descriptor) != 0 && written) {
    written = false;
    reason = errno;
  }
  if (written && ::rename(beside.c_str(), file.c_str()) == 0) return ok();
  if (written) reason = errno;
  ::unlink(beside.c_str());
  return failure(file, std::strerror(reason));
}

} // namespace strata::tools
