// SPDX-License-Identifier: BSD-3-Clause
#include "tune/table.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace strata::tune {
namespace {

/// "the table is for nodes=4, and here it is 2".
std::string difference(const char* key, const std::string& wanted, const std::string& found) {
  return fmt::format("the table is for {}={}, and here it is {}", key, wanted, found.empty() ? "not known" : found);
}

std::string text_of(const std::optional<std::uint64_t>& number) { return number ? std::to_string(*number) : ""; }

} // namespace

const TableRow* find(const Table& table, std::uint64_t bytes) {
  const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                [bytes](const TableRow& candidate) { return bytes <= candidate.up_to; });
  return row == table.rows.end() ? nullptr : &*row;
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

std::uint64_t racks_of(const topo::Hierarchy& hierarchy) {
  for (std::size_t level = 1; level < hierarchy.levels.size(); ++level)
    if (hierarchy.levels[level].link == topo::LinkKind::uplink)
      return static_cast<std::uint64_t>(hierarchy.levels[level - 1].groups);
  return 0;
}

std::string mpi_name_from(std::string_view library_version) {
  constexpr std::string_view digits = "0123456789", unsaid[] = {"version", "library"};
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::string text(library_version.substr(0, library_version.find_first_of(",\n")));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == ':'; }, ' ');
  std::string name;
  for (std::string_view word : split(text, ' ')) {
    word = word.substr(0, word.find('(')); // "Intel(R)"
    const std::string_view number = word.starts_with('v') || word.starts_with('V') ? word.substr(1) : word;
    if (!number.empty() && digits.find(number[0]) != std::string_view::npos) {
      const std::size_t point = number.find('.');
      const std::size_t end = point == std::string_view::npos ? 0 : point + 1;
      return fmt::format("{}-{}", name, number.substr(0, number.find_first_not_of(digits, end)));
    }
    std::string small;
    for (const char c : word)
      if (const char one = lower(c); (one >= 'a' && one <= 'z') || digits.find(one) != std::string_view::npos)
        small += one;
    if (std::find(std::begin(unsaid), std::end(unsaid), small) == std::end(unsaid)) name += small;
  }
  return name;
}

Result<Candidate> candidate_of(const Way& way, const Situation& situation, const Options& options,
                               std::size_t size_class) {
  const auto refusal = [](const char* why) { return Error{ErrorKind::unsupported, why}; };
  Candidate candidate;
  if (way.kind == Candidate::Kind::native) {
    if (options.mode == Mode::always) return refusal("STRATA_MODE=always excludes native");
    if (!situation.native_possible) return refusal("there is no MPI library to hand a call to");
    if (situation.native_is_refused) return refusal("STRATA_DEVICE_NATIVE=refuse excludes native");
    return native_candidate(situation, size_class);
  }
  if (way.kind == Candidate::Kind::board) {
    if (!situation.board_possible) return refusal("the ranks do not share the memory of one node, as board needs");
    candidate = board_candidate(situation, size_class);
  } else {
    const bool plain = way.plain && situation.plain;
    auto composition =
        hier::composition_from(way.composition, plain ? situation.plain->hierarchy : situation.job.hierarchy);
    if (!composition) return composition.error();
    Options wanted = options;
    if (wanted.slice == 0) wanted.slice = way.slice;
    if (wanted.window == 0) wanted.window = way.window;
    candidate = best_with(*composition, plain, situation, wanted, size_class);
  }
  candidate.around = way.around;
  return candidate;
}

Way way_of(const Candidate& candidate) {
  Way way;
  way.kind = candidate.kind;
  way.around = candidate.around;
  if (candidate.kind != Candidate::Kind::schedule) return way;
  way.composition = hier::to_text(candidate.composition);
  way.slice = candidate.slice_bytes;
  way.window = candidate.window;
  way.plain = candidate.plain;
  return way;
}

void prefer(Choice& choice, const Table& table, const std::string& file, const Situation& situation,
            const Options& options, std::size_t size_class) {
  const TableRow* const row = find(table, bounds_of_class(size_class).first);
  if (row == nullptr) return;
  const std::string place = fmt::format("{} line {}", file, row->line);
  auto candidate = candidate_of(row->way, situation, options, size_class);
  if (!candidate) {
    choice.note +=
        fmt::format("{}{} is not possible here: {}", choice.note.empty() ? "" : "; ", place, candidate.error().message);
    return;
  }
  choice.runners_up.insert(choice.runners_up.begin(), std::move(choice.chosen));
  std::erase_if(choice.runners_up, [&](const Candidate& other) {
    return other.plain == candidate->plain && other.name() == candidate->name();
  });
  choice.chosen = std::move(*candidate);
  choice.source = place;
}

} // namespace strata::tune
