// SPDX-License-Identifier: BSD-3-Clause
// Signals are the program's: threads that strata starts, or a library under it, are to get none.
#pragma once

#include <csignal>

namespace strata {

/// While it lives, this thread gets no signals, and threads that it starts never do.
class BlockedSignals {
public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    blocked_ = pthread_sigmask(SIG_SETMASK, &all, &before_) == 0;
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() {
    if (blocked_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

private:
  sigset_t before_{};
  bool blocked_ = false;
};

} // namespace strata
