// SPDX-License-Identifier: BSD-3-Clause
#include "tools/progress_line.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace strata::tools {
namespace {

constexpr int most_launchers = 4; ///< between a rank and the terminal: mpirun, or mpiexec and its proxy

std::string standard_error_of(int process) { return fmt::format("/proc/{}/fd/{}", process, STDERR_FILENO); }

bool is_terminal(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC); // it is not to become this process's own
  if (file < 0) return false;
  const bool is = ::isatty(file) == 1;
  ::close(file);
  return is;
}

/// proc(5): the fourth field of stat; the second one, in parentheses, may hold anything.
int parent_of(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  char state = 0;
  int parent = 0;
  if (name_end == std::string::npos || std::sscanf(text.c_str() + name_end + 1, " %c %d", &state, &parent) != 2)
    return 0;
  return parent;
}

/// A shell that made the pipe for another program has closed it.
bool reads(int process, const struct stat& pipe) {
  std::error_code error;
  std::filesystem::directory_iterator entry(fmt::format("/proc/{}/fd", process), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    struct stat target {};
    struct stat link {}; // its permissions are how the file is open
    if (::stat(entry->path().c_str(), &target) != 0 || ::lstat(entry->path().c_str(), &link) != 0) continue;
    if (target.st_dev == pipe.st_dev && target.st_ino == pipe.st_ino && (link.st_mode & S_IRUSR) != 0) return true;
  }
  return false;
}

} // namespace

bool shows_on_terminal() {
  if (::isatty(STDERR_FILENO) == 1) return true;
  int process = ::getpid();
  for (int launcher = 0; launcher < most_launchers; ++launcher) {
    struct stat pipe {};
    if (::stat(standard_error_of(process).c_str(), &pipe) != 0) return false;
    if (S_ISCHR(pipe.st_mode)) return is_terminal(standard_error_of(process));
    const int parent = parent_of(process);
    if (!S_ISFIFO(pipe.st_mode) || parent <= 1 || !reads(parent, pipe)) return false;
    process = parent;
  }
  return false;
}

void ProgressLine::show(const std::string& line) {
  if (wanted_) std::fprintf(stderr, "\r\033[K%s", line.c_str());
  shown_ = wanted_;
}

void ProgressLine::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

} // namespace strata::tools
