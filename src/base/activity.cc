// SPDX-License-Identifier: BSD-3-Clause
#include "base/activity.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace strata {
namespace {

/// Text without the standard library's formatting, which may allocate: a signal handler uses it.
class Line {
public:
  Line(char* text, std::size_t room) : text_(text), room_(room) {
    if (room_ > 0) text_[0] = '\0';
  }
  Line& operator<<(const char* words) {
    for (; *words != '\0' && used_ + 1 < room_; ++words)
      text_[used_++] = *words;
    if (room_ > 0) text_[used_] = '\0';
    return *this;
  }
  Line& operator<<(std::uint64_t number) {
    char digits[24];
    char* first = digits + sizeof digits - 1;
    *first = '\0';
    do
      *--first = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    return *this << first;
  }
  Line& operator<<(std::int32_t number) { return *this << static_cast<std::uint64_t>(std::max(number, 0)); }

  std::size_t used() const { return used_; }

private:
  char* text_;
  std::size_t room_;
  std::size_t used_ = 0;
};

void describe(const Activity& activity, Line& line) {
  if (activity.waiting.load(std::memory_order_acquire) == 0) {
    line << "does not wait in strata";
    return;
  }
  char name[Activity::name_words * sizeof(std::uint64_t) + 1] = {};
  for (std::size_t word = 0; word < Activity::name_words; ++word) {
    const std::uint64_t letters = activity.name[word].load(std::memory_order_relaxed);
    std::memcpy(name + word * sizeof letters, &letters, sizeof letters);
  }
  // Who wrote it may be another user's process, and who reads it a terminal.
  std::replace_if(
      name, name + ::strlen(name), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t waited = now.tv_sec - activity.since_nanoseconds.load() / 1'000'000'000;
  line << "waits " << static_cast<std::uint64_t>(std::max<std::int64_t>(waited, 0)) << " s in call "
       << activity.call.load() << " (" << activity.bytes.load() << " bytes) on "
       << (name[0] != '\0' ? name : "a communicator") << " of " << activity.ranks.load() << " ranks, as its rank "
       << activity.rank.load() << ", for ";
  const std::int32_t count = activity.awaited_count.load();
  if (count == 0) line << "what it sent to be taken";
  if (count > 0) line << (count == 1 ? "rank " : "ranks ");
  const auto most = static_cast<std::int32_t>(Activity::most_awaited);
  for (std::int32_t i = 0; i < std::min(count, most); ++i)
    line << (i == 0 ? "" : ", ") << activity.awaited[static_cast<std::size_t>(i)].load();
  if (count > most) line << " and " << count - most << " more";
}

} // namespace

void put_name(Activity& activity, std::string_view name) {
  for (auto& word : activity.name) {
    std::uint64_t letters = 0;
    name.copy(reinterpret_cast<char*>(&letters), sizeof letters);
    name.remove_prefix(std::min(sizeof letters, name.size()));
    word.store(letters, std::memory_order_relaxed);
  }
}

void describe(const Activity& activity, char* text, std::size_t room) {
  const int kept = errno;
  Line line(text, room);
  describe(activity, line);
  errno = kept;
}

std::size_t describe_line(const Activity& activity, char* text, std::size_t room) {
  const int kept = errno;
  Line line(text, room - 1); // the end fits in any case
  line << "strata: rank " << activity.world_rank.load() << " ";
  describe(activity, line);
  text[line.used()] = '\n';
  errno = kept;
  return line.used() + 1;
}

} // namespace strata
