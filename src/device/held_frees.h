// SPDX-License-Identifier: BSD-3-Clause
// What a driver does when it is asked to free something while a stream waits for the host (Driver::hold_frees).
#pragma once

#include "base/result.h"

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace strata::device {

/// Thread-safe.
class HeldFrees {
public:
  /// Waits for a free that is under way: after it, nothing is freed.
  void hold() {
    const std::lock_guard lock(mutex_);
    ++holds_;
  }
  /// Frees nothing either: what was held goes with the next free, or with flush().
  void release() {
    const std::lock_guard lock(mutex_);
    --holds_;
  }
  /// Frees now, or later and says that all is well.
  Status free(std::function<Status()> what) {
    const std::lock_guard lock(mutex_);
    if (holds_ > 0) {
      held_.push_back(std::move(what));
      return ok();
    }
    free_held();
    return what();
  }
  /// Does it now, or not at all (false).
  Result<bool> free_unless_held(const std::function<Status()>& what) {
    const std::lock_guard lock(mutex_);
    if (holds_ > 0) return false;
    free_held();
    if (const Status done = what(); !done) return done.error();
    return true;
  }
  /// Frees what is held, though somebody may hold it: the driver goes.
  void flush() {
    const std::lock_guard lock(mutex_);
    free_held();
  }

private:
  void free_held() {
    for (const auto& held : held_)
      static_cast<void>(held()); // nothing to be done about it
    held_.clear();
  }

  std::mutex mutex_;
  std::size_t holds_ = 0;
  std::vector<std::function<Status()>> held_;
};

} // namespace strata::device
