// SPDX-License-Identifier: BSD-3-Clause
// strata-perf: the MPI library's all-reduce and strata's, alternated in one process.
//
// Launches of the same program differ by more than the two do from each other, so both run in turn, in batches:
// native, strata, native, strata, … Each pair of neighbouring batches gives one ratio, and the row of a size shows
// the median of the ratios, and where the middle four fifths of them lie.
//
// A batch is long enough for the clock, and counts as long as the rank that took longest, per call. Back to back, the
// ranks meet in a barrier before a batch only; with --barrier before each call, and only the calls are timed.
#pragma once

#include "base/result.h"
#include "type/type.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace strata::tools {

enum class Pace { back_to_back, barrier };
enum class Where { host, device, managed }; ///< the vectors

struct PerfFlags {
  std::vector<std::uint64_t> sizes; ///< bytes
  type::Element element = type::Element::float32;
  type::Operation operation = type::Operation::sum;
  bool in_place = false;
  Where memory = Where::host;
  std::string mode;             ///< for STRATA_MODE; empty: as it is
  std::uint64_t iterations = 0; ///< pairs of batches for each size; 0: by time
  double seconds = 0.5;         ///< for each size
  double settling = 0;          ///< most seconds that a trial is waited for; 0: ten times the above
  Pace pace = Pace::back_to_back;
  bool check = true;
  bool floor = false;
  bool reproducible = false;       ///< also what STRATA_REPRODUCIBLE=1 costs
  std::string json_file, svg_file; ///< empty: none
};

/// Parses the command line; the exit status when the tool is to end now.
std::optional<int> parse(PerfFlags& flags, int count, char** arguments);

/// "8,1K:64K": sizes in bytes, and ranges that double; the error names the part that is wrong.
Result<std::vector<std::uint64_t>> sizes_from(const std::string& text);

/// The 10th percentile, the median and the 90th percentile.
struct Spread {
  double low = 0, median = 0, high = 0;
};
Spread spread_of(std::vector<double> values);
/// How far the median of so few values may be off, as a part of it: half of the way from the value that is a standard
/// deviation of the median's place (half of the root of their number) below the middle to the one above. Of fewer than
/// three, which do not tell, 1.
double doubt_of_median(std::vector<double> values);
/// Of the ratios of each pair.
Spread ratio_of(const std::vector<double>& numerators, const std::vector<double>& denominators);

/// What was measured for one size; seconds are per call.
struct PerfRow {
  std::uint64_t bytes = 0;
  Spread native, strata;
  Spread ratio; ///< native / strata: above one, strata is faster
  std::uint64_t pairs = 0, calls_per_batch = 0;
  std::string algorithm; ///< what strata ran
  std::string way;       ///< the algorithm as strata-table(5) has it; empty: it is not settled
  double predicted_seconds = 0;
  std::int64_t errors = 0, native_errors = 0; ///< wrong elements, over all ranks
  double copy_seconds = 0;                    ///< --floor: all ranks at once copy the vector
  double exchange_seconds = 0;                ///< --floor: two ranks of a node exchange it; 0: not measured
  Spread price;                               ///< --reproducible: its seconds / strata's without
};

/// One run of the tool.
struct PerfRun {
  int ranks = 1, nodes = 1;
  std::vector<std::string> hosts; ///< by rank
  std::string library;
  nlohmann::json options;
  std::string memory;         ///< where the vectors are; empty: in the host's
  bool native_staged = false; ///< the MPI library gets copies in the host's memory, because it knows no other
  double flag_seconds = 0;    ///< --floor: a flag from one process to another of the node; 0: not measured
  std::vector<PerfRow> rows;
};

std::string heading(const PerfFlags& flags, const PerfRun& run);
std::string line_of(const PerfFlags& flags, const PerfRow& row);
nlohmann::json document_of(const PerfFlags& flags, const PerfRun& run);

/// A drawing (SVG) of both medians over the size, and the ratio below it.
Result<std::string> plot(const PerfFlags& flags, const PerfRun& run);

} // namespace strata::tools
