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

struct AroundName {
  const char* name;
  Around around;
};
constexpr AroundName around_names[] = {{"nothing", Around::nothing},
                                       {"published", Around::published},
                                       {"results", Around::results},
                                       {"both", Around::both}};
constexpr const char* demoted_word = "published";

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
    return argument_error(fmt::format("there are more than {} levels", topo::most_levels));
  levels.levels.resize(static_cast<std::size_t>(separators) + 1);
  const auto composition = hier::composition_from(std::string(text), levels);
  if (!composition)
    return Error{composition.error().kind, fmt::format("{}; or native or board", composition.error().message)};
  return separators == 0 ? std::string(text) : hier::to_text(*composition);
}

Status set_slice(Way& way, const std::string& text) {
  const auto slice = parse_bytes(text);
  if (!slice || *slice < least_slice || *slice > most_slice)
    return argument_error(fmt::format("slice={} cannot be ({} to {})", printable(text), format_bytes(least_slice),
                                      format_bytes(most_slice)));
  way.slice = *slice;
  return ok();
}

Status set_window(Way& way, const std::string& text) {
  const auto window = parse_number(text);
  if (!window || *window < 1 || *window > most_window)
    return argument_error(fmt::format("window={} cannot be (1 to {})", printable(text), most_window));
  way.window = *window;
  return ok();
}

Status set_racks(Way& way, const std::string& text) {
  if (text != "ignored") return argument_error(fmt::format("racks={} cannot be (ignored)", printable(text)));
  way.plain = true;
  return ok();
}

Status set_around(Way& way, const std::string& text) {
  for (const AroundName& row : around_names)
    if (text == row.name) {
      way.around = row.around;
      return ok();
    }
  return argument_error(fmt::format("around={} cannot be (nothing, published, results or both)", printable(text)));
}

/// Behind set_around().
Status set_demoted(Way& way, const std::string& text) {
  if (text != demoted_word)
    return argument_error(fmt::format("demoted={} cannot be ({})", printable(text), demoted_word));
  if (way.around) return argument_error("around and demoted exclude each other");
  way.around = Around::demoted;
  return ok();
}

struct WayKey {
  const char* key;
  Status (*set)(Way& way, const std::string& text);
};
constexpr WayKey way_keys[] = {{"slice", set_slice},
                               {"window", set_window},
                               {"racks", set_racks},
                               {"around", set_around},
                               {"demoted", set_demoted}};

/// The words of a row from `first` on.
Result<Way> way_from(const std::string& file, const Statement& statement, std::size_t first) {
  const auto refusal = [&](const std::string& message) { return refusal_at(file, statement.line, message); };
  if (first >= statement.words.size())
    return refusal("the way is missing (native, board, or a composition such as direct+ring slice=384K window=4)");
  Way way;
  const std::string_view name = statement.words[first];
  std::vector<const char*> allowed;
  if (name == "native") {
    if (statement.words.size() > first + 1)
      return refusal(fmt::format("native takes no '{}'", printable(statement.words[first + 1])));
  } else if (name == "board") {
    way.kind = Candidate::Kind::board;
    allowed = {"around", "demoted"};
  } else {
    way.kind = Candidate::Kind::schedule;
    auto composition = checked_composition(name);
    if (!composition) return refusal(composition.error().message);
    way.composition = std::move(*composition);
    allowed = {"slice", "window", "racks", "around"};
  }
  const auto fields = Fields::of(file, statement, first + 1, allowed);
  if (!fields) return fields.error();
  for (const WayKey& row : way_keys)
    if (const auto text = fields->find(row.key))
      if (const Status set = row.set(way, std::string(*text)); !set) return refusal(set.error().message);
  return way;
}

/// "up-to 8K WAY" or "above WAY", after the rows before it.
Result<TableRow> row_from(const std::string& file, const Statement& statement, const std::vector<TableRow>& before) {
  const auto refusal = [&](const std::string& message) { return refusal_at(file, statement.line, message); };
  const bool is_last = statement.words[0] == "above";
  if (!before.empty() && before.back().up_to == any_size)
    return refusal("a row comes after 'above', which is the last");
  if (before.size() == most_rows) return refusal(fmt::format("there are more than {} rows", most_rows));
  TableRow row;
  row.line = statement.line;
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

/// A table of any machine and of one row, with these words in it.
Result<Table> table_of(const std::string& machine, const std::string& way) {
  return table_from(fmt::format("strata-table 1\nmachine {}\nabove {}\nend 2\n", machine, way), "words");
}

} // namespace

std::string to_text(const MachineShape& machine) {
  std::string text;
  const auto add = [&](const char* key, const std::string& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  };
  for (const Count& count : counts)
    if (const auto& number = machine.*count.member) add(count.key, std::to_string(*number));
  for (const Name& name : names)
    if (const std::string& value = machine.*name.member; !value.empty()) add(name.key, value);
  return text;
}

std::string to_text(const Way& way) {
  if (way.kind == Candidate::Kind::native) return "native";
  std::string text = way.kind == Candidate::Kind::board ? "board" : way.composition;
  if (way.plain) text += " racks=ignored";
  if (way.slice != 0) text += fmt::format(" slice={}", format_bytes(way.slice));
  if (way.window != 0) text += fmt::format(" window={}", way.window);
  for (const AroundName& row : around_names)
    if (way.around == row.around) text += fmt::format(" around={}", row.name);
  if (way.around == Around::demoted) text += fmt::format(" demoted={}", demoted_word);
  return text;
}

Result<MachineShape> machine_from(const std::string& words) {
  auto table = table_of(words, "native");
  if (!table) return table.error();
  return std::move(table->machine);
}

Result<Way> way_from(const std::string& words) {
  auto table = table_of("", words);
  if (!table) { // no place: there is no file
    const std::string& message = table.error().message;
    return Error{table.error().kind, message.substr(message.find(": ") + 2)};
  }
  return std::move(table->rows.front().way);
}

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
  const std::string machine = to_text(table.machine);
  writer.line("machine{}{}", machine.empty() ? "" : " ", machine);
  writer.remark("    bytes   way");
  for (const TableRow& row : table.rows) {
    for (const std::string& remark : row.remarks)
      writer.remark(remark);
    if (row.up_to == any_size)
      writer.line("{:<14}{}", "above", to_text(row.way));
    else
      writer.line("up-to {:<7} {}", format_bytes(row.up_to), to_text(row.way));
  }
  return writer.finish(table_format, "Which way strata does an all-reduce of which size; see strata-table(5).");
}

} // namespace strata::tune
