// SPDX-License-Identifier: BSD-3-Clause
// Which schedule, slice size and window for a size class: candidates, each with its predicted time; the cheapest wins.
#pragma once

#include "base/options.h"
#include "tune/model.h"

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
