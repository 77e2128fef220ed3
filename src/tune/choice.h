// SPDX-License-Identifier: BSD-3-Clause
// Which schedule, slice size and window for a size class: candidates, each with its predicted time; the cheapest wins.
#pragma once

#include "base/options.h"
#include "tune/model.h"

#include <algorithm>
#include <optional>

namespace strata::tune {

/// What goes around the caches, where that is settled: what a rank publishes for its neighbours, the results, or both.
/// Or nothing, but what is published is moved on from the core's own caches to shared ones.
enum class Around : std::uint8_t { nothing, published, results, both, demoted };
inline constexpr Around every_around[] = {Around::nothing, Around::published, Around::results, Around::both,
                                          Around::demoted};

/// One way to do an all-reduce.
struct Candidate {
  enum class Kind : std::uint8_t {
    native,   ///< the MPI library's own
    board,    ///< the latency path: all ranks of one node exchange their vectors, slot by slot
    schedule, ///< a composition, in slices
  } kind = Kind::native;
  hier::Composition composition; ///< kind schedule
  bool plain = false;            ///< over Situation::plain instead of its job
  bool long_slices = false;      ///< as devices like them
  std::size_t slice_bytes = 0;   ///< kind schedule
  std::uint32_t window = 1;      ///< kind schedule
  std::optional<Around> around;  ///< not of kind native; empty: whoever runs it decides
  double seconds = 0;            ///< predicted

  /// "native", "board", "direct+direct slice 384K window 4"
  std::string name() const;
};

/// What was chosen for a size class, and what else there was, cheapest first.
struct Choice {
  Candidate chosen;
  std::vector<Candidate> runners_up;
  std::string source; ///< empty: chosen by prediction; else the place in a table: "FILE line 4"
  std::string note;   ///< empty, or why an option could not be followed
};

/// Size classes: four to an octave. Everything that is decided for a call is decided for its class.
inline constexpr std::size_t size_classes = 4 * 64;
std::size_t size_class(std::size_t bytes);
/// The smallest and the largest size of a class.
std::pair<std::size_t, std::size_t> bounds_of_class(std::size_t size_class);

/// What the choice depends on; equal on all ranks of a context.
struct Situation {
  JobShape job;
  /// Where racks were found: the job without them, worth it for short vectors. Where the job has the levels of devices:
  /// with those of the ranks' cores, worth it for vectors in the host's memory.
  std::optional<JobShape> plain;
  Parameters parameters;
  bool board_possible = false; ///< all ranks share one node's memory
  bool can_demote = false;     ///< all ranks' processors move lines on to shared caches when asked, and each has a core
  bool native_possible = true; ///< there is an MPI library to hand a call to
  bool native_is_refused = false; ///< where a buffer is in device memory, a rank's call would fail that is handed to it
  bool on_devices = false;        ///< some ranks' vectors are in device memory
  std::size_t wire_bytes = 0;     ///< best size of a message between nodes; 0: no limit

  const JobShape& job_of(const Candidate& candidate) const { return candidate.plain ? *plain : job; }
};

/// What may pay to store around the caches, or through them, in one node, for vectors of so many bytes that go this
/// way.
std::vector<Around> stores_to_try(const Situation& situation, Candidate::Kind kind, std::size_t bytes);

/// Most bytes that go through the latency path at once; longer vectors do piece by piece. Of many ranks that share
/// their cores, what all of them write (four pieces each) is to stay in the caches of these.
constexpr std::size_t board_piece_bytes(std::int32_t ranks) {
  return (ranks <= 4 ? std::size_t{64} : std::size_t{32}) << 10;
}
/// Bytes of a rank's ring there, where each rank's core has a cache of `core_cache` bytes of its own; of 0, as few as
/// the ring needs. To take a line out of another core's own cache, and to have it given up there before it is written
/// again, is slower than to find it in a cache that both share. What is in all ranks' rings goes through a core's cache
/// before a line is written again: four times as much as it holds leaves no line there. In us between two cores of an
/// EPYC of family 25 (1 MiB each, and a shared cache), with rings of 1/4, 1, 2 and 4 MiB:
///     8 KiB   1.28 0.99 0.80 0.79      32 KiB   5.1 3.3 2.1 2.2       128 KiB   17.7 11.4 8.9 9.0
///    16 KiB   2.60 1.80 1.28           64 KiB  10.5 6.4 4.4 4.4       256 KiB             16.7 16.8
/// Without a shared cache a tenth to a fifth is saved (32 KiB: 21 and 17.5 us). Ranks that share cores (`crowded`)
/// find half of their peers' lines in their own core's cache, which longer rings would drive out of it: on those two
/// cores, in us, with rings of 1/4, 1/2, 1 and 2 MiB for three and four ranks, and of half as much for eight:
///             three ranks               four ranks                eight ranks
///    32 KiB   11.8 10.3  8.8  9.0       19.3 16.8 16.7 16.8       33.6 32.1 32.5 32.3
///   128 KiB   46.3 36.9 34.8 34.9       44.1 41.8 41.7 42.0        125  123  124  125
///     2 MiB    721  607  614  613        696  665  682  705       2348 2336 2750 2540
constexpr std::size_t board_ring_bytes(std::int32_t ranks, std::uint64_t core_cache, bool crowded) {
  constexpr std::uint64_t most = std::uint64_t{4} << 20;
  return std::min(most, (crowded ? 2 : 4) * core_cache / static_cast<std::uint64_t>(ranks));
}
/// How much of a ring that was made by that rule, for ranks that do not share cores, a vector of so many bytes uses.
/// One that does not stay in a core's cache together with its result drives lines of the rings out of it as well, so
/// that a shorter ring does, and leaves more of a shared cache to others. Between the same two cores, in us, with 1/2,
/// 1, 1 1/4, and all of 2 MiB:
///   128 KiB   18.8 10.5  8.9  8.7        1 MiB   82.6  64.5  63.7  64.2          4 MiB    335 274 274 294
///   512 KiB   42.7 33.6 32.5 34.6        2 MiB    165   130   130   136          6 MiB    570 484 504 524
constexpr std::size_t board_ring_in_use(std::int32_t ranks, std::size_t ring_bytes, std::size_t bytes) {
  const std::size_t core_cache = ring_bytes * static_cast<std::size_t>(ranks) / 4;
  return 2 * bytes < core_cache ? ring_bytes : ring_bytes / 8 * 5;
}
/// The pieces of a vector of so many bytes that goes through the caches. Longer ones are read so long after they were
/// written that they are in the cache that the cores share, and that ring still holds five. In us between the same two
/// cores, published two ahead, in pieces of 64, 128 and 256 KiB: 512 KiB 31.2 31.1 31.0, 1 MiB 62.1 61.0 59.8, 2 MiB
/// 124 122 118, 4 MiB 266 257 259; but 16 MiB, with results around the caches, 1577 1744 1690.
constexpr std::size_t board_piece_bytes_of(std::int32_t ranks, std::size_t ring_bytes, std::size_t bytes) {
  const std::size_t shorter = board_piece_bytes(ranks), longer = ring_bytes / 8;
  return bytes < 4 * longer ? shorter : std::max(shorter, longer);
}

/// The best size of a message between nodes for a transport with this eager limit (0: none): small messages keep a
/// pipeline of slices full, and stay below the limit, beyond which each costs a handshake.
std::size_t wire_bytes_for(std::size_t eager_limit);

/// Half of these slices in flight, and twice as many, where that makes a difference to a vector of so many bytes. Plans
/// take memory for all that is in flight: no more than 16 slices, and 8 MiB, unless `window` is more already.
std::vector<std::uint64_t> depths_beside(std::uint64_t window, std::size_t slice_bytes, std::size_t bytes);

/// Whether a call may be handed to the MPI library because that is faster.
bool native_is_a_candidate(const Situation& situation, const Options& options);

Choice choose(const Situation& situation, const Options& options, std::size_t size_class);

/// The cheapest candidate with this composition, over the job's levels or, if `plain`, over those of Situation::plain;
/// slice and window are the options', or else as the model chooses them. They fit each other.
Candidate best_with(const hier::Composition& composition, bool plain, const Situation& situation,
                    const Options& options, std::size_t size_class);
Candidate board_candidate(const Situation& situation, std::size_t size_class);
Candidate native_candidate(const Situation& situation, std::size_t size_class);

} // namespace strata::tune
