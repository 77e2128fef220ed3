// SPDX-License-Identifier: BSD-3-Clause
// strata-sim: what schedules would take on a machine that is not here.
#pragma once

#include "hier/composition.h"
#include "sim/simulator.h"
#include "tune/choice.h"
#include "tune/profile.h"

#include <optional>
#include <string>
#include <vector>

namespace strata::tools {

struct SimFlags {
  std::string machine_text;
  sim::Machine machine;
  topo::Hierarchy hierarchy;
  std::string mapping = "slot";
  std::vector<hier::Composition> compositions; ///< empty: all that strata would consider
  std::vector<std::uint64_t> sizes;
  std::uint64_t slice = 0;                  ///< bytes; 0: as strata would choose
  std::uint64_t window = 0;                 ///< 0: as strata would choose
  std::string trace_file;                   ///< empty: none
  std::optional<std::int32_t> planned_rank; ///< nothing is simulated: this rank's way to its programs is timed
  bool as_json = false;
};

/// More ranks than this take too long to make the programs of all of them.
inline constexpr std::int64_t most_simulated_ranks = 16384;
/// A file that describes a machine is no larger.
inline constexpr std::size_t most_file_bytes = std::size_t{64} << 20;
/// Sizes are of vectors of float32, which no slice or range cuts.
inline constexpr std::int64_t simulated_element_bytes = 4;

/// Parses and checks the command line; the exit status when the tool is to end now.
std::optional<int> parse(SimFlags& flags, int count, char** arguments);
/// The flags for words as they stand behind their options, for parse and for tests.
struct SimWords {
  std::vector<std::string> machine;
  std::string algorithm = "all", bytes = "8,32K,1M,32M", mapping = "slot", slice, window, ranks, trace, plan, profile,
              hwloc;
  bool flat = false, as_json = false;
};
Result<SimFlags> sim_flags_from(const SimWords& words);

/// The profile in a file of a user's.
Result<tune::Profile> profile_in(const std::string& file);
/// The line of a machine whose nodes are the profile's hosts, and `node`, such as "core:8", each of them.
Result<sim::MachineLine> line_with_profile(const tune::Profile& profile, const std::string& node);
/// The machine of such a line, with the levels that the profile has around its hosts.
sim::Machine machine_with_profile(const tune::Profile& profile, const sim::MachineLine& line,
                                  const sim::Mapping& mapping);

/// What cores a node has, by their places in it, as a machine line says it: "socket:2 numa:2 core:16".
/// \return an Error when some groups of cores are larger than others.
Result<std::string> words_of_cores(std::span<const topo::RankFacts> cores);
/// The same of a file that lstopo wrote as XML.
Result<std::string> words_of_file(const std::string& file);

/// One algorithm at one size.
struct SimRow {
  std::int64_t bytes = 0;
  std::string algorithm;
  std::int64_t slice_bytes = 0;
  std::uint32_t window = 1;
  std::optional<double> predicted_seconds; ///< by the analytic model, where it knows such a machine
  sim::Outcome outcome;
};

/// Simulates everything that the flags ask for; rows by size, the fastest first. The timeline is there if a trace is
/// wanted.
Result<std::vector<SimRow>> simulate_all(const SimFlags& flags);

/// The machine as the cost model sees it, as far as it can: one kind of link between nodes, and one between racks.
tune::Situation situation_of(const sim::Machine& machine, const topo::Hierarchy& hierarchy);
tune::Situation situation_of(const sim::Machine& machine, tune::JobShape job);
/// Whether that is all there is to the machine.
bool is_known_to_the_model(const sim::Machine& machine);

/// What took longest in a run: an uplink or memory with a limit, or else a core.
struct Bottleneck {
  std::string name; ///< "node 3 up", "core of rank 0"
  double busy = 0;  ///< seconds
};
Bottleneck bottleneck_of(const sim::Machine& machine, const sim::Outcome& outcome);

/// What one rank of a job does before its first message, for each size: it chooses, and makes its own program. Only of
/// machines on which the ranks are dealt out regularly.
Result<std::string> planning_of(const SimFlags& flags);

std::string table_of(const SimFlags& flags, const std::vector<SimRow>& rows);
std::string document_of(const SimFlags& flags, const std::vector<SimRow>& rows);

/// The run's timeline, as STRATA_TRACE writes those of real runs.
std::string trace_of(const sim::Machine& machine, const hier::AllReduce& schedule, const SimRow& run);

} // namespace strata::tools
