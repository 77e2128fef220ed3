// SPDX-License-Identifier: BSD-3-Clause
#include "base/written_file.h"

#include "base/text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace strata {
namespace {

Error failure(const std::string& file, const std::string& reason) {
  return {ErrorKind::resource, fmt::format("cannot write {}: {}", printable(file), reason)};
}

Status check_what_is_there(const std::string& file, Existing existing) {
  struct stat there {};
  if (::lstat(file.c_str(), &there) != 0) return ok();
  if (S_ISDIR(there.st_mode)) return failure(file, "it is a directory");
  if (!S_ISREG(there.st_mode)) return failure(file, "it is there, and is no regular file");
  return existing == Existing::kept ? failure(file, "it is there already") : ok();
}

/// Names that others of this process' number have: on other hosts, in other containers, or killed before they ended.
constexpr int most_taken = 1000;

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

WrittenFile::WrittenFile(std::string file, std::string beside, Existing existing, int descriptor)
    : file_(std::move(file)), beside_(std::move(beside)), existing_(existing), descriptor_(descriptor) {}

WrittenFile::WrittenFile(WrittenFile&& other) noexcept
    : file_(std::move(other.file_)), beside_(std::move(other.beside_)), existing_(other.existing_),
      descriptor_(std::exchange(other.descriptor_, -1)), trouble_(other.trouble_) {}

WrittenFile::~WrittenFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(beside_.c_str());
}

Result<WrittenFile> WrittenFile::begin(const std::string& file, Existing existing) {
  if (const Status checked = check_what_is_there(file, existing); !checked) return checked.error();
  // Not mkstemp, whose file only its owner may read.
  for (int taken = 0;; ++taken) {
    std::string beside = fmt::format("{}.{}.{}.part", file, ::getpid(), taken);
    const int descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor >= 0) return WrittenFile(file, std::move(beside), existing, descriptor);
    if (errno != EEXIST || taken == most_taken) return failure(file, std::strerror(errno));
  }
}

void WrittenFile::append(std::string_view text) {
  while (!text.empty() && trouble_ == 0) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      trouble_ = written == 0 ? ENOSPC : errno;
    else
      text.remove_prefix(static_cast<std::size_t>(written));
  }
}

Status WrittenFile::finish() {
  // Else a crash of the machine may leave the new name with an empty file. Where files cannot be synced, it may.
  while (trouble_ == 0 && ::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS)
    if (errno != EINTR) trouble_ = errno;
  if (::close(std::exchange(descriptor_, -1)) != 0 && trouble_ == 0) trouble_ = errno;
  if (trouble_ == 0 && put_in_place(beside_, file_, existing_) == 0) return ok();
  if (trouble_ == 0) trouble_ = errno;
  ::unlink(beside_.c_str());
  return failure(file_, std::strerror(trouble_));
}

Status check_writable(const std::string& file, Existing existing) {
  const auto begun = WrittenFile::begin(file, existing);
  return begun ? ok() : begun.error();
}

Status write_whole(const std::string& file, std::string_view text, Existing existing) {
  auto written = WrittenFile::begin(file, existing);
  if (!written) return written.error();
  written->append(text);
  return written->finish();
}

} // namespace strata
