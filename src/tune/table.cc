// SPDX-License-Identifier: BSD-3-Clause
#include "tune/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::tune {
namespace {

/// "the table is for nodes=4, and here it is 2".
std::string difference(const char* key, const std::string& wanted, const std::string& found) {
  return fmt::format("the table is for {}={}, and here it is {}", key, wanted, found.empty() ? "not known" : found);
}

std::string text_of(const std::optional<std::uint64_t>& number) { return number ? std::to_string(*number) : ""; }

} // namespace

const Way* find(const Table& table, std::uint64_t bytes) {
  const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                [bytes](const TableRow& candidate) { return bytes <= candidate.up_to; });
  return row == table.rows.end() ? nullptr : &row->way;
}

std::string misfit(const Table& table, const MachineShape& shape) {
  const MachineShape& wanted = table.machine;
  const std::tuple<const char*, std::string, std::string> facts[] = {
      {"nodes", text_of(wanted.nodes), text_of(shape.nodes)},
      {"ranks-per-node", text_of(wanted.ranks_per_node), text_of(shape.ranks_per_node)},
      {"racks", text_of(wanted.racks), text_of(shape.racks)},
      {"cores", text_of(wanted.cores), text_of(shape.cores)},
      {"transport", wanted.transport, shape.transport},
      {"mpi", wanted.mpi, shape.mpi}};
  for (const auto& [key, asked, found] : facts)
    if (!asked.empty() && asked != found) return difference(key, asked, found);
  return "";
}

Result<Candidate> candidate_of(const Way& way, const topo::Hierarchy& hierarchy) {
  Candidate candidate;
  candidate.kind = way.kind;
  if (way.kind != Candidate::Kind::schedule) return candidate;
  auto composition = hier::composition_from(way.composition, hierarchy);
  if (!composition) return composition.error();
  candidate.composition = std::move(*composition);
  candidate.slice_bytes = way.slice;
  candidate.window = static_cast<std::uint32_t>(way.window);
  return candidate;
}

} // namespace strata::tune
