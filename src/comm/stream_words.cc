// SPDX-License-Identifier: BSD-3-Clause
#include "comm/stream_words.h"

namespace strata::comm {
namespace {

// Words that different streams look at lie in cache lines of their own.
constexpr std::size_t line_words = 16, page_bytes = 4096;

} // namespace

/// Without the lock: the driver may take its time.
Status StreamWords::grow() {
  const auto page = driver_.allocate_pinned(page_bytes);
  if (!page) return page.error();
  auto* const words = static_cast<std::uint32_t*>(*page);
  std::vector<Pair> more;
  for (std::size_t word = 0; word < page_bytes / sizeof *words; word += line_words) {
    words[word] = words[word + 1] = 0;
    more.push_back({words + word, words + word + 1, 0});
  }
  const std::lock_guard lock(mutex_);
  pairs_ += more.size();
  free_.reserve(pairs_); // so that giving back needs no memory
  free_.insert(free_.end(), more.begin(), more.end());
  return ok();
}

Result<StreamWords::Pair> StreamWords::take() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Pair pair = free_.back();
        free_.pop_back();
        ++pair.number;
        return pair;
      }
    }
    if (Status grown = grow(); !grown) return grown.error();
  }
}

void StreamWords::give_back(const Pair& pair) {
  const std::lock_guard lock(mutex_);
  free_.push_back(pair);
}

} // namespace strata::comm
