// SPDX-License-Identifier: BSD-3-Clause
#include "comm/waits.h"

#include "base/activity.h"
#include "base/text.h"
#include "transport/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

namespace strata::comm {
namespace {

namespace fs = std::filesystem;

std::optional<ProcessWait> wait_in(const fs::path& segment) {
  const int file = ::open(segment.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  using transport::shm::SegmentHeader;
  const bool long_enough = ::lseek(file, 0, SEEK_END) >= static_cast<off_t>(sizeof(SegmentHeader));
  void* const mapped =
      long_enough ? ::mmap(nullptr, sizeof(SegmentHeader), PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  ::close(file);
  if (mapped == MAP_FAILED) return std::nullopt;
  const Activity& activity = static_cast<const SegmentHeader*>(mapped)->activity;
  std::optional<ProcessWait> found;
  if (activity.is_activity == Activity::mark) {
    char text[512];
    describe(activity, text, sizeof text);
    found.emplace();
    found->world_rank = activity.world_rank.load();
    found->world_ranks = activity.world_ranks.load();
    found->waits = activity.waiting.load() != 0;
    found->text = text;
  }
  ::munmap(mapped, sizeof(SegmentHeader));
  return found;
}

std::optional<ProcessWait> wait_of(const fs::path& process) {
  std::error_code error;
  for (fs::directory_iterator file(process / "fd", error), end; !error && file != end; file.increment(error)) {
    std::error_code unreadable;
    const fs::path target = fs::read_symlink(file->path(), unreadable);
    if (unreadable || !target.string().starts_with("/memfd:strata")) continue;
    if (auto found = wait_in(file->path())) {
      std::ifstream name(process / "comm");
      std::getline(name, found->program);
      return found;
    }
  }
  return std::nullopt;
}

} // namespace

std::vector<ProcessWait> waits_on_this_node() {
  std::vector<ProcessWait> waits;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const auto pid = parse_number(entry->path().filename().string());
    if (!pid || *pid > INT32_MAX) continue;
    auto found = wait_of(entry->path());
    if (!found) continue;
    found->pid = static_cast<std::int32_t>(*pid);
    waits.push_back(std::move(*found));
  }
  std::sort(waits.begin(), waits.end(), [](const ProcessWait& a, const ProcessWait& b) {
    return std::tie(a.program, a.world_ranks, a.world_rank, a.pid) <
           std::tie(b.program, b.world_ranks, b.world_rank, b.pid);
  });
  return waits;
}

} // namespace strata::comm
