// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/dump.h"

#include "mpi/state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace strata::mpi {
namespace {

extern "C" void strata_mpi_write_activity(int) {
  const int kept = errno;
  const Activity* const activity = state().dumped.load(std::memory_order_acquire);
  if (activity != nullptr) {
    // All of it with one write, so that lines of several ranks do not mix; nothing here allocates or locks.
    char line[600] = "strata: rank ";
    char digits[16];
    std::size_t used = std::strlen(line);
    std::size_t count = 0;
    auto rank = static_cast<unsigned>(activity->world_rank.load());
    do
      digits[count++] = static_cast<char>('0' + rank % 10);
    while ((rank /= 10) != 0);
    while (count > 0)
      line[used++] = digits[--count];
    line[used++] = ' ';
    describe(*activity, line + used, sizeof line - used - 1);
    used = std::strlen(line);
    line[used++] = '\n';
    (void)!::write(STDERR_FILENO, line, used);
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
