// SPDX-License-Identifier: BSD-3-Clause
// A file is written under another name, of its own, in the same folder, and renamed when it is complete on the disk:
// POSIX's rename replaces a file in one step for all who look.
#include "base/private_folder.h"

#include "base/descriptor.h"
#include "base/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace strata {
namespace {

constexpr std::string_view unfinished_prefix = ".unfinished-"; ///< of files that are being written
constexpr std::time_t unfinished_seconds = 3600;               ///< a writer that takes longer has died

Error refusal(std::string message) { return Error{ErrorKind::resource, std::move(message)}; }

Error failure(const char* what, const std::string& path, int error) {
  return refusal(fmt::format("cannot {} {}: {}", what, path, std::strerror(error)));
}

/// Whether nobody but the user (and root) can have written to what is open.
Status check_owner(const Descriptor& open, const std::string& path, mode_t kind) {
  struct stat facts = {};
  if (fstat(open.number(), &facts) != 0) return failure("look at", path, errno);
  if ((facts.st_mode & S_IFMT) != kind) return refusal(fmt::format("{} is no ordinary file", path));
  if (facts.st_uid != geteuid())
    return refusal(
        fmt::format("{} belongs to user {}, and only what is user {}'s own is trusted", path, facts.st_uid, geteuid()));
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return refusal(fmt::format("{} has mode {:03o}, and may be written by its owner only", path,
                               static_cast<unsigned>(facts.st_mode & 0777)));
  return ok();
}

Result<Descriptor> open_folder(const std::string& folder) {
  Descriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open) return failure("open", folder, errno);
  if (auto status = check_owner(open, folder, S_IFDIR); !status) return status.error();
  return open;
}

/// Makes the folder and what is missing above it.
Status make_folder(const std::string& folder) {
  for (std::size_t end = 1; end <= folder.size(); ++end) {
    if (end < folder.size() && folder[end] != '/') continue;
    const std::string part = folder.substr(0, end);
    if (mkdir(part.c_str(), S_IRWXU) == 0 || errno == EEXIST) continue;
    const int error = errno; // Some file systems, read-only ones among them, do not say EEXIST.
    struct stat facts = {};
    if (stat(part.c_str(), &facts) != 0) return failure("make folder", part, error);
  }
  return ok();
}

/// A new file of this writer alone.
Result<std::pair<Descriptor, std::string>> open_unfinished(const Descriptor& folder, const std::string& name) {
  constexpr int most_tries = 16;
  for (int i = 0; i < most_tries; ++i) {
    std::uint64_t random = 0; // Where there is none, the process makes the difference.
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0) random = static_cast<std::uint64_t>(i);
    std::string own = fmt::format("{}{}-{}-{:016x}", unfinished_prefix, name, getpid(), random);
    Descriptor file(
        openat(folder.number(), own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (file) return std::pair{std::move(file), std::move(own)};
    if (errno != EEXIST) return failure("make", own, errno);
  }
  return failure("make a file for", name, EEXIST);
}

/// 0, or errno.
int write_all(Descriptor& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.number(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  while (fsync(file.number()) != 0)
    if (errno != EINTR) return errno;
  return file.close() ? 0 : errno;
}

void remove_forsaken(const Descriptor& folder) {
  Descriptor again(openat(folder.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(fdopendir(again.number()), closedir);
  if (!listing) return;
  (void)again.release(); // The listing closes it.
  std::vector<std::string> names;
  while (const dirent* entry = readdir(listing.get()))
    if (std::string_view(entry->d_name).starts_with(unfinished_prefix)) names.emplace_back(entry->d_name);
  const std::time_t now = std::time(nullptr);
  for (const std::string& name : names) {
    struct stat facts = {};
    if (fstatat(folder.number(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
        now - facts.st_mtime > unfinished_seconds)
      unlinkat(folder.number(), name.c_str(), 0);
  }
}

} // namespace

Result<std::optional<std::string>> read_private(const std::string& folder, const std::string& name,
                                                std::size_t most_bytes) {
  const std::optional<std::string> nothing;
  if (access(folder.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) return nothing;
  const auto place = open_folder(folder);
  if (!place) return place.error();
  const std::string path = folder + "/" + name;
  const Descriptor file(openat(place->number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return nothing;
  if (!file) return failure("open", path, errno);
  if (auto status = check_owner(file, path, S_IFREG); !status) return status.error();
  auto text = text_of_open(file.number(), most_bytes);
  if (!text) return refusal(fmt::format("cannot read {}: {}", path, text.error().message));
  return std::optional(std::move(*text));
}

Status replace_private(const std::string& folder, const std::string& name, std::string_view text) {
  if (getauxval(AT_SECURE) != 0)
    return refusal(fmt::format("{}/{} is not written by a program that has more rights than its user", folder, name));
  if (!folder.starts_with('/')) return refusal(fmt::format("folder '{}' has no full path", folder));
  if (auto status = make_folder(folder); !status) return status;
  const auto place = open_folder(folder);
  if (!place) return place.error();
  remove_forsaken(*place);
  auto unfinished = open_unfinished(*place, name);
  if (!unfinished) return unfinished.error();
  auto& [file, own] = *unfinished;
  int error = write_all(file, text);
  if (error == 0 && renameat(place->number(), own.c_str(), place->number(), name.c_str()) != 0) error = errno;
  if (error != 0) {
    unlinkat(place->number(), own.c_str(), 0);
    return failure("write", folder + "/" + name, error);
  }
  (void)fsync(place->number()); // The name, too, survives a crash. Where folders cannot be synced, it may be lost.
  return ok();
}

} // namespace strata
