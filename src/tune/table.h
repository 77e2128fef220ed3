// SPDX-License-Identifier: BSD-3-Clause
// The table of a machine: which way for which sizes, as a tuner found it or a person wrote it (strata-table(5)).
//
//     strata-table 1
//     machine nodes=4 ranks-per-node=4 racks=0 cores=8 transport=ucx mpi=openmpi-4.1
//     up-to 8K    direct.leader+recursive_doubling.exchange slice=64K window=2
//     up-to 1M    native
//     above       direct+ring slice=384K window=4
//     end 4
#pragma once

#include "base/result.h"
#include "tune/choice.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace strata::tune {

/// What a machine and a job on it are to a table. Of a table, what is absent may be anything.
struct MachineShape {
  std::optional<std::uint64_t> nodes;
  std::optional<std::uint64_t> ranks_per_node; ///< of the largest node
  std::optional<std::uint64_t> racks;          ///< 0: no profile tells of racks
  std::optional<std::uint64_t> cores;          ///< that the ranks of a node may use
  std::string transport;                       ///< between nodes: "ucx", "mpi"; empty: absent
  std::string mpi;                             ///< the MPI library and its version, "openmpi-4.1"; empty: absent
  bool operator==(const MachineShape&) const = default;
};

/// One way to do the calls of some sizes.
struct Way {
  Candidate::Kind kind = Candidate::Kind::native;
  std::string composition;  ///< kind schedule: as hier::composition_from takes it
  std::uint64_t slice = 0;  ///< kind schedule: bytes; 0: left to the cost model
  std::uint64_t window = 0; ///< kind schedule: slices in flight; 0: left to the cost model
  bool operator==(const Way&) const = default;
};

inline constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();

/// The way for calls of more bytes than the row before and at most `up_to`.
struct TableRow {
  std::uint64_t up_to = any_size;
  Way way;
  bool operator==(const TableRow&) const = default;
};

struct Table {
  MachineShape machine;
  std::vector<TableRow> rows; ///< ascending, at least one
  bool operator==(const Table&) const = default;
};

/// Parses the text of the file named `file`. The error tells file, line, what is there and what is allowed. That a
/// composition has as many levels as a hierarchy is not checked yet: see candidate_of().
Result<Table> table_from(std::string_view text, const std::string& file);

/// The text of a table; table_from takes it and makes an equal one of it, if each way is as table_from leaves it.
std::string to_text(const Table& table);

/// The way for a call of so many bytes; nothing for more than the last row speaks of.
const Way* find(const Table& table, std::uint64_t bytes);

/// Empty when the table is for jobs of this shape; else a sentence that tells why not. What the shape lacks does not
/// fit a table that asks for it.
std::string misfit(const Table& table, const MachineShape& shape);

/// The way as a candidate in this hierarchy, for a trial or a choice; slice and window as they are in the way, and no
/// predicted time. The error tells why the composition does not go with the hierarchy.
Result<Candidate> candidate_of(const Way& way, const topo::Hierarchy& hierarchy);

} // namespace strata::tune
