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
  std::string composition;      ///< kind schedule: as hier::composition_from takes it
  std::uint64_t slice = 0;      ///< kind schedule: bytes; 0: left to the cost model
  std::uint64_t window = 0;     ///< kind schedule: slices in flight; 0: left to the cost model
  bool plain = false;           ///< kind schedule: over the levels without racks, where racks are known
  std::optional<Around> around; ///< not of kind native; empty: as without a table
  bool operator==(const Way&) const = default;
};

inline constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();

/// The way for calls of more bytes than the row before and at most `up_to`.
struct TableRow {
  std::uint64_t up_to = any_size;
  Way way;
  std::size_t line = 0;             ///< where it was read; 0: nowhere
  std::vector<std::string> remarks; ///< for people, written before the row; not read
  bool operator==(const TableRow& other) const { return up_to == other.up_to && way == other.way; }
};

/// More rows than there are size classes say nothing more.
inline constexpr std::size_t most_rows = size_classes;

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

/// The words of a machine and of a way, as they stand in a table; and back.
std::string to_text(const MachineShape& machine);
std::string to_text(const Way& way);
Result<MachineShape> machine_from(const std::string& words);
Result<Way> way_from(const std::string& words);

/// The row for a call of so many bytes; nothing for more than the last row speaks of.
const TableRow* find(const Table& table, std::uint64_t bytes);

/// Empty when the table is for jobs of this shape; else a sentence that tells why not. What the shape lacks does not
/// fit a table that asks for it.
std::string misfit(const Table& table, const MachineShape& shape);

/// The racks that a hierarchy has levels for; 0: none are known.
std::uint64_t racks_of(const topo::Hierarchy& hierarchy);

/// The name of a MPI library for a table out of what it says of itself: "openmpi-4.1" of "Open MPI v4.1.4, package: …".
std::string mpi_name_from(std::string_view library_version);

/// The way as a candidate for a size class; what it leaves open, and slice and window if the options have them, as in
/// a choice. The error tells why it is not possible here.
Result<Candidate> candidate_of(const Way& way, const Situation& situation, const Options& options,
                               std::size_t size_class);
/// The way that makes this candidate again.
Way way_of(const Candidate& candidate);

/// Puts the way that the table has for the smallest size of the class in front of a choice; a way that is not possible
/// here is noted and leaves the choice as it is.
void prefer(Choice& choice, const Table& table, const std::string& file, const Situation& situation,
            const Options& options, std::size_t size_class);

} // namespace strata::tune
