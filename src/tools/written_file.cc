// SPDX-License-Identifier: BSD-3-Clause
#include "tools/written_file.h"

#include "base/text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
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

Status check_what_is_there(const std::string& file, Existing existing) {
  struct stat there {};
  if (::lstat(file.c_str(), &there) != 0) return ok();
  if (S_ISDIR(there.st_mode)) return failure(file, "it is a directory");
  if (!S_ISREG(there.st_mode)) return failure(file, "it is there, and is no regular file");
  return existing == Existing::kept ? failure(file, "it is there already") : ok();
}

/// A new file beside `file`. Not mkstemp, whose file only its owner may read.
std::string name_beside(const std::string& file) { return fmt::format("{}.{}.part", file, ::getpid()); }

int open_beside(const std::string& beside) {
  return ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

/// In one step for all who look. 0, or -1 with errno.
int put_in_place(const std::string& beside, const std::string& file, Existing existing) {
  if (existing == Existing::replaced) return ::rename(beside.c_str(), file.c_str());
  if (::renameat2(AT_FDCWD, beside.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  // NFS knows no such renaming, but refuses a second name that is taken.
  if (::link(beside.c_str(), file.c_str()) != 0) return -1;
  return ::unlink(beside.c_str());
}

} // namespace

Status write_whole(const std::string& file, std::string_view text, Existing existing) {
  if (Status fine = check_what_is_there(file, existing); !fine) return fine;
  const std::string beside = name_beside(file);
  const int descriptor = open_beside(beside);
  if (descriptor < 0) return failure(file, std::strerror(errno));
  bool written = write_all(descriptor, text);
  int reason = errno;
  if (::close(descriptor) != 0 && written) {
    written = false;
    reason = errno;
  }
  if (written && put_in_place(beside, file, existing) == 0) return ok();
  if (written) reason = errno;
  ::unlink(beside.c_str());
  return failure(file, std::strerror(reason));
}

Status check_writable(const std::string& file, Existing existing) {
  if (Status fine = check_what_is_there(file, existing); !fine) return fine;
  const std::string beside = name_beside(file);
  const int descriptor = open_beside(beside);
  if (descriptor < 0) return failure(file, std::strerror(errno));
  ::close(descriptor);
  ::unlink(beside.c_str());
  return ok();
}

bool write_to_standard_output(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

} // namespace strata::tools
