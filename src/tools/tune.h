// SPDX-License-Identifier: BSD-3-Clause
// strata-tune: measures the ways to do an all-reduce of each size, the MPI library's own among them, and writes the
// fastest as a table (strata-table(5)).
#pragma once

#include "tune/table.h"

#include <nlohmann/json.hpp>

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
  bool by_itself = false;           ///< and what strata chooses when nobody tells it
  double settling = 60;             ///< seconds that it may take for that
  std::string json;                 ///< file for all times; empty: none
  std::string output;               ///< file for the table; empty: standard output
  bool force = false;               ///< replace a file
};

/// Parses the command line; the exit status when the tool is to end now.
std::optional<int> parse(TuneFlags& flags, int count, char** arguments);

/// A way and the seconds that a call took.
struct MeasuredWay {
  tune::Way way{};
  double seconds = 0;
};

/// What strata chose when nobody told it, against the best of all ways. Times are of a call, in the last contest.
struct OwnChoice {
  std::optional<tune::Way> way_at_first; ///< before ways were measured; none: it was still trying ways
  std::optional<tune::Way> way;          ///< likewise, before the final
  std::optional<tune::Way> way_after;    ///< likewise, after all contests: what it came to prefer
  double seconds = 0;                    ///< as strata goes by itself
  std::optional<double> forced_seconds;  ///< told to go that way; none: no way, or one that it could not be told
  MeasuredWay best;
  double native_seconds = 0;
  double doubt = 0; ///< how far these times may be off, as a part of them; see doubt_of_median()
  std::uint64_t wrong = 0, native_wrong = 0; ///< elements of all ranks' results
};

struct MeasuredSize {
  std::uint64_t bytes = 0;
  std::vector<MeasuredWay> ways;      ///< none: strata did not serve the duplicate of all ranks that was made for it
  std::vector<MeasuredWay> briefly{}; ///< besides, those that did not come to the final, if there was one
  std::optional<OwnChoice> own{};     ///< with --by-itself
};

/// What was measured, as --json writes it; `facts` are those of the job.
nlohmann::json document_of(nlohmann::json facts, const std::vector<MeasuredSize>& sizes);

/// Of the ways that were measured; the MPI library's own in any case.
enum class Remarks : bool { fastest, all };

/// The table of what was measured, sizes ascending: neighbours with the same way in one row, which ends half way to the
/// next size (by ratio); the last ends with the last size. A way that is as good as the best, but for noise, goes on
/// from the size before; else the MPI library's own comes before others that are no better. A size without ways falls
/// to its neighbours.
tune::Table table_of(const tune::MachineShape& machine, const std::vector<MeasuredSize>& sizes,
                     Remarks wanted = Remarks::fastest);

} // namespace strata::tools
