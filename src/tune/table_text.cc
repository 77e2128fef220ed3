// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing a table.
#include "base/options.h"
#include "base/text.h"
#include "tune/statement.h"
#include "tune/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::tune {
namespace {

constexpr std::uint64_t least_slice = std::uint64_t{4} << 10, most_slice = std::uint64_t{64} << 20;
constexpr std::uint64_t most_window = 64;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50;
constexpr std::uint64_t most_count = std::uint64_t{1} << 31;

constexpr const char* machine_keys[] = {"nodes", "ranks-per-node", "racks", "cores", "transport", "mpi"};

struct Count {
  const char* key;
  std::optional<std::uint64_t> MachineShape::*member;
  std::uint64_t least;
};
constexpr Count counts[] = {{"nodes", &MachineShape::nodes, 1},
                            {"ranks-per-node", &MachineShape::ranks_per_node, 1},
                            {"racks", &MachineShape::racks, 0},
                            {"cores", &MachineShape::cores, 1}};
struct Name {
  const char* key;
  std::string MachineShape::*member;
};
constexpr Name names[] = {{"transport", &MachineShape::transport}, {"mpi", &MachineShape::mpi}};

Result<MachineShape> machine_from(const std::string& file, const Statement& statement) {
  const auto fields = Fields::of(file, statement, 1, machine_keys);
  if (!fields) return fields.error();
  MachineShape machine;
  for (const Count& count : counts) {
    const auto text = fields->find(count.key);
    if (!text) continue;
    const auto number = parse_number(*text);
    if (!number || *number < count.least || *number > most_count)
      return refusal_at(file, statement.line,
                        fmt::format("{}={} cannot be (a whole number from {} to {})", count.key, printable(*text),
                                    count.least, most_count));
    machine.*count.member = *number;
  }
  for (const Name& name : names) {
    const auto text = fields->find(name.key);
    if (!text) continue;
    if (!is_name(*text))
      return refusal_at(
          file, statement.line,
          fmt::format("{}={} cannot be (letters, digits and any of -_.+, 64 at most)", name.key, printable(*text)));
    machine.*name.member = *text;
  }
  return machine;
}

/// A composition in the form that is written. Levels come with the job: one name stands for any number of them, and is
/// left as it is; several are checked against a hierarchy of as many.
Result<std::string> checked_composition(std::string_view text) {
  const auto separators = std::count_if(text.begin(), text.end(), [](char c) { return c == '+' || c == ','; });
  topo::Hierarchy levels;
  if (static_cast<std::size_t>(separators) >= topo::most_levels)
    return Error{ErrorKind::argument, fmt::format("there are more than {} levels", topo::most_levels)};
  levels.levels.resize(static_cast<std::size_t>(separators) + 1);
  const auto composition = hier::composition_from(std::string(text), levels);
  if (!composition)
    return Error{composition.error().kind, fmt::format("{}; or native or board", composition.error().message)};
  return separators == 0 ? std::string(text) : hier::to_text(*composition);
}

/// The words of a row from `first` on.
Result<Way> way_from(const std::string& file, const Statement& statement, std::size_t first) {
  constexpr const char* keys[] = {"slice", "window"};
  const auto refusal = [&](const std::string& message) { return refusal_at(file, statement.line, message); };
  if (first >= statement.words.size())
    return refusal("the way is missing (native, board, or a composition such as direct+ring slice=384K window=4)");
  Way way;
  const std::string_view name = statement.words[first];
  const bool is_schedule = name != "native" && name != "board";
  if (!is_schedule && statement.words.size() > first + 1)
    return refusal(fmt::format("{} takes no '{}'", name, printable(statement.words[first + 1])));
  if (!is_schedule) {
    way.kind = name == "native" ? Candidate::Kind::native : Candidate::Kind::board;
    return way;
  }
  way.kind = Candidate::Kind::schedule;
  auto composition = checked_composition(name);
  if (!composition) return refusal(composition.error().message);
  way.composition = std::move(*composition);
  const auto fields = Fields::of(file, statement, first + 1, keys);
  if (!fields) return fields.error();
  if (const auto text = fields->find("slice")) {
    const auto slice = parse_bytes(std::string(*text));
    if (!slice || *slice < least_slice || *slice > most_slice)
      return refusal(fmt::format("slice={} cannot be ({} to {})", printable(*text), format_bytes(least_slice),
                                 format_bytes(most_slice)));
    way.slice = *slice;
  }
  if (const auto text = fields->find("window")) {
    const auto window = parse_number(*text);
    if (!window || *window < 1 || *window > most_window)
      return refusal(fmt::format("window={} cannot be (1 to {})", printable(*text), most_window));
    way.window = *window;
  }
  return way;
}

/// "up-to 8K WAY" or "above WAY", after the rows before it.
Result<TableRow> row_from(const std::string& file, const Statement& statement, const std::vector<TableRow>& before) {
  const auto refusal = [&](const std::string& message) { return refusal_at(file, statement.line, message); };
  const bool is_last = statement.words[0] == "above";
  if (!before.empty() && before.back().up_to == any_size)
    return refusal("a row comes after 'above', which is the last");
  TableRow row;
  if (!is_last) {
    const std::string size(statement.words.size() < 2 ? "" : statement.words[1]);
    const auto bytes = parse_bytes(size);
    if (!bytes || *bytes < 1 || *bytes > most_bytes)
      return refusal(fmt::format("'up-to {}' cannot be (bytes, with K, M or G, from 1 to {})", printable(size),
                                 format_bytes(most_bytes)));
    if (!before.empty() && *bytes <= before.back().up_to)
      return refusal(fmt::format("'up-to {}' comes after 'up-to {}', but sizes ascend", printable(size),
                                 format_bytes(before.back().up_to)));
    row.up_to = *bytes;
  }
  auto way = way_from(file, statement, is_last ? 1 : 2);
  if (!way) return way.error();
  row.way = std::move(*way);
  return row;
}

std::string way_text(const Way& way) {
  if (way.kind == Candidate::Kind::native) return "native";
  if (way.kind == Candidate::Kind::board) return "board";
  std::string text = way.composition;
  if (way.slice != 0) text += fmt::format(" slice={}", format_bytes(way.slice));
  if (way.window != 0) text += fmt::format(" window={}", way.window);
  return text;
}

} // namespace

Result<Table> table_from(std::string_view text, const std::string& file) {
  const auto statements = statements_of(text, file, table_format);
  if (!statements) return statements.error();
  Table table;
  std::size_t machine_line = 0, last = 1;
  for (const Statement& statement : *statements) {
    const std::string_view keyword = statement.words[0];
    last = statement.line;
    if (keyword == "machine") {
      if (machine_line != 0)
        return refusal_at(file, last,
                          fmt::format("'machine' comes for the second time (first in line {})", machine_line));
      machine_line = last;
      auto machine = machine_from(file, statement);
      if (!machine) return machine.error();
      table.machine = std::move(*machine);
    } else if (keyword == "up-to" || keyword == "above") {
      auto row = row_from(file, statement, table.rows);
      if (!row) return row.error();
      table.rows.push_back(std::move(*row));
    } else {
      return refusal_at(file, last,
                        fmt::format("'{}' is not known (machine, up-to, above or end)", printable(keyword)));
    }
  }
  if (machine_line == 0) return refusal_at(file, last, "there is no 'machine' ('machine' alone: for any machine)");
  if (table.rows.empty()) return refusal_at(file, last, "there is no row ('up-to BYTES WAY', or 'above WAY')");
  return table;
}

std::string to_text(const Table& table) {
  StatementWriter writer;
  std::string machine;
  for (const Count& count : counts)
    if (const auto& number = table.machine.*count.member) machine += fmt::format(" {}={}", count.key, *number);
  for (const Name& name : names)
    if (const std::string& text = table.machine.*name.member; !text.empty())
      machine += fmt::format(" {}={}", name.key, text);
  writer.line("machine{}", machine);
  writer.remark("    bytes   way");
  for (const TableRow& row : table.rows)
    if (row.up_to == any_size)
      writer.line("{:<14}{}", "above", way_text(row.way));
    else
      writer.line("up-to {:<7} {}", format_bytes(row.up_to), way_text(row.way));
  return writer.finish(table_format, "Which way strata does an all-reduce of which size; see strata-table(5).");
}

} // namespace strata::tune
