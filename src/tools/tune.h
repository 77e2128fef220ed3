// SPDX-License-Identifier: BSD-3-Clause
// strata-tune: measures the ways to do an all-reduce of each size, the MPI library's own among them, and writes the
// fastest as a table (strata-table(5)).
#pragma once

#include "tune/table.h"

#include <optional>
#include <string>
#include <vector>

namespace strata::tools {

struct TuneFlags {
  std::vector<std::uint64_t> sizes; ///< bytes, ascending
  double seconds = 1;               ///< for each size
  double total_seconds = 600;       ///< no other size is begun after that
  bool all = false;                 ///< all candidates, not only the best by prediction
  std::vector<std::string> ways;    ///< these instead, in the words of strata-table(5); empty: not given
  std::string output;               ///< file for the table; empty: standard output
  bool force = false;               ///< replace a file
};

/// Parses the command line; the exit status when the tool is to end now.
std::optional<int> parse(TuneFlags& flags, int count, char** arguments);

/// A way and the seconds that a call took.
struct MeasuredWay {
  tune::Way way;
  double seconds = 0;
};

struct MeasuredSize {
  std::uint64_t bytes = 0;
  std::vector<MeasuredWay> ways; ///< none: strata did not serve the duplicate of all ranks that was made for it
};

/// The table of what was measured, sizes ascending: neighbours with the same way in one row, which ends half way to the
/// next size (by ratio); the last ends with the last size. A way that is as good as the best, but for noise, goes on
/// from the size before; else the MPI library's own comes before others that are no better. A size without ways falls
/// to its neighbours.
enum class Remarks : bool { fastest, all }; ///< of the ways that were measured; the MPI library's own in any case
tune::Table table_of(const tune::MachineShape& machine, const std::vector<MeasuredSize>& sizes,
                     Remarks wanted = Remarks::fastest);

} // namespace strata::tools
