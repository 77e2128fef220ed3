// SPDX-License-Identifier: BSD-3-Clause
// What no all-reduce undercuts: the time of one copy of the vector, and of one flag between two processes.
#include "tools/perf_measure.h"

#include <atomic>
#include <chrono>

#include <sched.h>

namespace strata::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t copy_batches = 9;
constexpr std::uint64_t flag_rounds = 2000, flag_batches = 9;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Flag {
  alignas(64) std::atomic<std::uint64_t> round;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

void wait_for(const Flag& flag, std::uint64_t round) {
  for (std::uint64_t spins = 1; flag.round.load(std::memory_order_acquire) < round; ++spins)
    if (spins % 4096 == 0) sched_yield(); // the other may need this core
}

/// Two flags go to and fro; seconds for one way.
double exchange(Flag* flags, int self, std::uint64_t begin) {
  const auto started = Clock::now();
  for (std::uint64_t round = begin + 1; round <= begin + flag_rounds; ++round) {
    if (self == 0) flags[0].round.store(round, std::memory_order_release);
    wait_for(flags[1 - self], round);
    if (self == 1) flags[1].round.store(round, std::memory_order_release);
  }
  return seconds_since(started) / static_cast<double>(2 * flag_rounds);
}

} // namespace

double copy_seconds(PerfMemory& memory, void* to, const void* from, std::uint64_t bytes) {
  std::uint64_t copies = 1 + (std::uint64_t{1} << 20) / bytes; // 100 us or more
  if (copies > 10000) copies = 10000;
  std::vector<double> seconds;
  for (std::size_t batch = 0; batch < copy_batches; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto started = Clock::now();
    if (const Status copied = memory.copy(to, from, bytes, copies); !copied) end_job(copied.error());
    seconds.push_back(seconds_since(started) / static_cast<double>(copies));
  }
  return spread_of(longest_of_all(seconds)).median;
}

double flag_seconds() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  int self = 0, ranks = 1, unit = 0;
  MPI_Aint bytes = 0;
  void* own = nullptr;
  Flag* flags = nullptr;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &self);
  MPI_Comm_size(node, &ranks);
  MPI_Win_allocate_shared(self == 0 ? 3 * sizeof(Flag) : 0, 1, MPI_INFO_NULL, node, static_cast<void*>(&own), &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, static_cast<void*>(&flags));
  std::vector<double> seconds;
  if (ranks > 1) {
    flags = reinterpret_cast<Flag*>((reinterpret_cast<std::uintptr_t>(flags) + 63) / 64 * 64);
    if (self == 0) flags[0].round = flags[1].round = 0;
    MPI_Barrier(node);
    for (std::uint64_t batch = 0; self < 2 && batch < flag_batches; ++batch)
      seconds.push_back(exchange(flags, self, batch * flag_rounds));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
  return spread_of(seconds).median;
}

} // namespace strata::tools
