// SPDX-License-Identifier: BSD-3-Clause
// What a process is waiting for inside strata, where others can read it: a signal handler, and strata-info on the same
// node. Written only by waits that last; read at any moment, so a reader may see parts of two waits.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace strata {

struct Activity {
  static constexpr std::uint64_t mark = 0x3261746172747300; // "\0strata2", little-endian
  static constexpr std::size_t most_awaited = 16;
  static constexpr std::size_t name_words = 8;

  std::uint64_t is_activity = mark;
  std::atomic<std::int32_t> world_rank{-1}, world_ranks{0};  ///< -1: not known
  std::atomic<std::int32_t> waiting{0};                      ///< 1 while it waits
  std::atomic<std::int32_t> rank{0}, ranks{0};               ///< in the communicator of the wait
  std::array<std::atomic<std::uint64_t>, name_words> name{}; ///< the communicator's, with zeros behind it
  std::atomic<std::uint64_t> call{0};                        ///< which of the calls that strata served there, from 1
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::int64_t> since_nanoseconds{0}; ///< CLOCK_MONOTONIC
  std::atomic<std::int32_t> awaited_count{0};     ///< all of them; so many of the first are here:
  std::array<std::atomic<std::int32_t>, most_awaited> awaited{};
};

/// Cut to what there is room for. Relaxed: who reads it while it is written sees parts of both.
void put_name(Activity& activity, std::string_view name);

/// One line without its end, such as
///   `waits 12 s in call 17 (8192 bytes) on MPI_COMM_WORLD of 4 ranks, as its rank 1, for ranks 0, 2`
///   `waits 12 s in call 17 (8192 bytes) on a communicator of 4 ranks, ...`, where it has no name
///   `does not wait in strata`
/// Cut to `room`, always terminated. Async-signal-safe; the caller's errno is kept.
void describe(const Activity& activity, char* text, std::size_t room);
/// The same as a whole line of the log, with the rank and its end; the bytes of it. Async-signal-safe.
std::size_t describe_line(const Activity& activity, char* text, std::size_t room);

static_assert(std::atomic<std::int64_t>::is_always_lock_free, "a signal handler reads these");

} // namespace strata
