// SPDX-License-Identifier: BSD-3-Clause
// What no all-reduce does without: the time of one copy of the vector, of one flag between two processes, and of an
// exchange of two vectors through shared memory without reducing anything.
//
// A copy by a device is started and waited for, each by itself: a call that blocks cannot do with less, and of short
// vectors that is all that it takes. The host's are made one after the other.
#include "base/elapsed.h"
#include "base/rounding.h"
#include "tools/perf_measure.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>

#include <sched.h>

namespace strata::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t batches = 9;
constexpr std::uint64_t flag_rounds = 2000;
constexpr std::uint64_t most_waits = 500; ///< for a device, in a batch: milliseconds
constexpr std::size_t piece_bytes = std::size_t{256} << 10, line_bytes = 64;
/// Places of pieces in the ring that are used in turn: a few, which stay in the cores' own caches, or all that there is
/// room for, which go on to a cache that the cores share. What is faster depends on the size.
constexpr std::size_t few_places = 4, ring_bytes = 4 * few_places * piece_bytes;
/// Behind each place, so that what a processor fetches ahead is not what the other writes next.
constexpr std::size_t gap_bytes = 2048;

std::size_t place_bytes_of(std::size_t piece) { return rounded_up(piece, line_bytes) + gap_bytes; }

/// Calls of a batch of a millisecond or less.
std::uint64_t calls_of(std::uint64_t bytes) {
  return std::min<std::uint64_t>(1 + (std::uint64_t{16} << 20) / bytes, 10000);
}

/// What one of two ranks shares with the other: counters, each written by its owner alone, and a ring of pieces.
struct Shared {
  alignas(64) std::atomic<std::uint64_t> flag;
  alignas(64) std::atomic<std::uint64_t> written; ///< pieces, ever
  alignas(64) std::atomic<std::uint64_t> read;    ///< of the other's
  alignas(64) std::byte ring[ring_bytes];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// A vector goes in these.
std::size_t piece_of(std::uint64_t bytes) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, bytes));
}

void wait_for(const std::atomic<std::uint64_t>& counter, std::uint64_t value) {
  for (std::uint64_t spins = 1; counter.load(std::memory_order_acquire) < value; ++spins)
    if (spins % 4096 == 0) sched_yield(); // the other may need this core
}

} // namespace

struct NodePair::State {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  int self = 0, ranks = 1;
  Shared* own = nullptr;
  Shared* other = nullptr;
  std::uint64_t rounds = 0, pieces = 0; ///< so far
};

NodePair::NodePair() : state_(std::make_unique<State>()) {
  State& state = *state_;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &state.node);
  MPI_Comm_rank(state.node, &state.self);
  MPI_Comm_size(state.node, &state.ranks);
  void* own = nullptr;
  const MPI_Aint bytes = state.self == 0 ? 2 * sizeof(Shared) + alignof(Shared) : 0;
  MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, state.node, static_cast<void*>(&own), &state.window);
  void* memory = nullptr;
  MPI_Aint size = 0;
  int unit = 0;
  MPI_Win_shared_query(state.window, 0, &size, &unit, static_cast<void*>(&memory));
  auto room = static_cast<std::size_t>(size);
  if (takes_part()) {
    auto* both = static_cast<Shared*>(std::align(alignof(Shared), 2 * sizeof(Shared), memory, room));
    state.own = both + state.self;
    state.other = both + (1 - state.self);
    std::memset(static_cast<void*>(state.own), 0, sizeof(Shared));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

NodePair::~NodePair() {
  MPI_Win_free(&state_->window);
  MPI_Comm_free(&state_->node);
}

bool NodePair::takes_part() const { return state_->self < 2 && state_->ranks > 1; }

/// Two flags go to and fro.
double NodePair::flag_seconds() {
  std::vector<double> seconds;
  MPI_Barrier(MPI_COMM_WORLD);
  for (std::size_t batch = 0; takes_part() && batch < batches; ++batch) {
    State& state = *state_;
    const auto started = Clock::now();
    for (std::uint64_t i = 0; i < flag_rounds; ++i) {
      ++state.rounds;
      if (state.self == 0) state.own->flag.store(state.rounds, std::memory_order_release);
      wait_for(state.other->flag, state.rounds);
      if (state.self == 1) state.own->flag.store(state.rounds, std::memory_order_release);
    }
    seconds.push_back(seconds_since(started) / static_cast<double>(2 * flag_rounds));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return spread_of(seconds).median;
}

/// The other reads a place before it is written again.
void NodePair::exchange(std::byte* to, const std::byte* from, std::uint64_t bytes, std::size_t places) {
  State& state = *state_;
  const std::size_t most = piece_of(bytes), place_bytes = place_bytes_of(most);
  for (std::uint64_t first = 0; first < bytes; first += most, ++state.pieces) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(most, bytes - first));
    const std::size_t place = state.pieces % places * place_bytes;
    if (state.pieces >= places) wait_for(state.other->read, state.pieces - places + 1);
    std::memcpy(state.own->ring + place, from + first, size);
    state.own->written.store(state.pieces + 1, std::memory_order_release);
    wait_for(state.other->written, state.pieces + 1);
    std::memcpy(to + first, state.other->ring + place, size);
    state.own->read.store(state.pieces + 1, std::memory_order_release);
  }
}

double NodePair::exchanges(std::uint64_t calls, void* to, const void* from, std::uint64_t bytes, std::size_t places) {
  const auto started = Clock::now();
  for (std::uint64_t call = 0; call < calls; ++call)
    exchange(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes, places);
  return seconds_since(started) / static_cast<double>(calls);
}

double NodePair::exchange_seconds(void* to, const void* from, std::uint64_t bytes) {
  return std::min(exchange_seconds(to, from, bytes, few_places),
                  exchange_seconds(to, from, bytes, ring_bytes / place_bytes_of(piece_of(bytes))));
}

double NodePair::exchange_seconds(void* to, const void* from, std::uint64_t bytes, std::size_t places) {
  MPI_Barrier(MPI_COMM_WORLD);
  // Where others use these cores, an exchange may take a slice of the scheduler.
  constexpr std::uint64_t first_calls = 4;
  std::uint64_t calls =
      takes_part() ? calls_for(1e-3, exchanges(first_calls, to, from, bytes, places), 1, calls_of(bytes)) : 0;
  MPI_Bcast(&calls, 1, MPI_UINT64_T, 0, state_->node);
  std::vector<double> seconds;
  for (std::size_t batch = 0; takes_part() && batch < batches; ++batch)
    seconds.push_back(exchanges(calls, to, from, bytes, places));
  MPI_Barrier(MPI_COMM_WORLD);
  return spread_of(seconds).median;
}

double copy_seconds(PerfMemory& memory, void* to, const void* from, std::uint64_t bytes) {
  const bool by_device = !memory.name().empty();
  const std::uint64_t calls = by_device ? std::min(calls_of(bytes), most_waits) : calls_of(bytes);
  const std::uint64_t at_once = by_device ? 1 : calls;
  std::vector<double> seconds;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto started = Clock::now();
    for (std::uint64_t call = 0; call < calls; call += at_once)
      if (const Status copied = memory.copy(to, from, bytes, at_once); !copied)
        end_job("strata-perf", copied.error().message);
    seconds.push_back(seconds_since(started) / static_cast<double>(calls));
  }
  return spread_of(longest_of_all(seconds)).median;
}

} // namespace strata::tools
