// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/dump.h"

#include "mpi/state.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace strata::mpi {
namespace {

extern "C" void strata_mpi_write_activity(int) {
  const int kept = errno;
  if (const Activity* const activity = state().dumped.load(std::memory_order_acquire)) {
    char line[600]; // written at once, so that lines of several ranks do not mix
    (void)!::write(STDERR_FILENO, line, describe_line(*activity, line, sizeof line));
  }
  errno = kept;
}

} // namespace

std::string dump_on_signal(int signal, const Activity& activity) {
  struct sigaction before {};
  if (::sigaction(signal, nullptr, &before) != 0 || (before.sa_flags & SA_SIGINFO) != 0 ||
      (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN))
    return "STRATA_DUMP_SIGNAL is not used: the program has a handler of its own for this signal";
  state().dumped.store(&activity, std::memory_order_release);
  struct sigaction action {};
  action.sa_handler = strata_mpi_write_activity;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
  return {};
}

void stop_dumping() { state().dumped.store(nullptr, std::memory_order_release); }

} // namespace strata::mpi
