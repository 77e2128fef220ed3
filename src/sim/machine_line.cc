// SPDX-License-Identifier: BSD-3-Clause
// The parser of machine lines. It goes through the text once; every complaint names the column where it stood.
#include "base/options.h"
#include "base/quantity.h"
#include "base/text.h"
#include "sim/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace strata::sim {
namespace {

constexpr double not_said = -1;

/// Of a core. Orders of magnitude, as those below.
constexpr Link memory_defaults = {0.08e-6, 0, 0.03e-6, 0.065e-9, 0.01e-9};

/// Levels, outermost first, and their defaults. Orders of magnitude of ordinary machines: 10 Gbit/s Ethernet, cores
/// that share a level-3 cache or a socket's memory.
struct LevelRow {
  const char* name;
  Medium medium;
  double latency;
  double uplink_per_byte;
};
constexpr LevelRow level_rows[] = {
    {"pod", Medium::network, 1e-6, 0},
    {"rack", Medium::network, 1e-6, 0},
    {"node", Medium::network, 15e-6, 0.8e-9},
    {"socket", Medium::memory, 0.1e-6, 0},
    {"numa", Medium::memory, 0.03e-6, 0},
    {"cache", Medium::memory, 0.02e-6, 0},
    {"core", Medium::memory, memory_defaults.latency, 0},
};
constexpr const char* level_names = "pod, rack, node, socket, numa, cache or core";
constexpr Link network_defaults = {0, 0, 2e-6, 0.1e-9, 0.05e-9};
constexpr Core core_defaults = {0.03e-9, 0.01e-9, 0.02e-6, 0, 0};

enum class Quantity : std::uint8_t { time, rate, bytes };

/// A key, and where its value goes.
struct KeyRow {
  const char* name;
  Quantity quantity;
  const char* only; ///< the one level that has it, or null
  double Link::*link;
  double Core::*core;
  double MachineLine::*line;
};
constexpr KeyRow key_rows[] = {
    {"latency", Quantity::time, nullptr, &Link::latency, nullptr, nullptr},
    {"uplink", Quantity::rate, nullptr, &Link::per_byte, nullptr, nullptr},
    {"message", Quantity::time, nullptr, &Link::per_message, nullptr, nullptr},
    {"read", Quantity::rate, nullptr, &Link::read_per_byte, nullptr, nullptr},
    {"reduce", Quantity::rate, nullptr, &Link::reduce_per_byte, nullptr, nullptr},
    {"copy", Quantity::rate, "core", nullptr, &Core::copy_per_byte, nullptr},
    {"step", Quantity::time, "core", nullptr, &Core::step, nullptr},
    {"cache", Quantity::bytes, "core", nullptr, &Core::cache_bytes, nullptr},
    {"beyond", Quantity::rate, "core", nullptr, &Core::beyond_per_byte, nullptr},
    {"memory", Quantity::rate, "node", nullptr, nullptr, &MachineLine::memory_per_byte},
    {"rank", Quantity::rate, "node", nullptr, nullptr, &MachineLine::rank_per_byte},
    {"gap", Quantity::time, "node", nullptr, nullptr, &MachineLine::gap},
};

constexpr double longest_time = 10, least_rate = 1e3, greatest_rate = 1e15;

/// What is allowed of a quantity.
const char* allowed_of(Quantity quantity) {
  switch (quantity) {
  case Quantity::time:
    return "0s to 10s: a number and s, ms, us or ns";
  case Quantity::rate:
    return "1kB/s to 1000TB/s: a number and B/s or bit/s, such as 12.5GB/s or 100Gbit/s; or unlimited";
  case Quantity::bytes:
    return "bytes with an optional K, M or G; or unlimited";
  }
  return "";
}

/// Seconds, seconds per byte, or bytes.
std::optional<double> value_of(std::string_view text, Quantity quantity) {
  if (quantity == Quantity::time) {
    const auto seconds = duration_from(text);
    return seconds && *seconds <= longest_time ? std::optional(*seconds) : std::nullopt;
  }
  if (text == "unlimited") return 0;
  if (quantity == Quantity::bytes) {
    const auto bytes = parse_bytes(std::string(text));
    return bytes && *bytes > 0 ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
  }
  const auto rate = rate_from(text);
  return rate && *rate >= least_rate && *rate <= greatest_rate ? std::optional(1 / *rate) : std::nullopt;
}

class LineParser {
public:
  LineParser(std::string_view text, const LineDefaults& defaults) : text_(text), defaults_(defaults) {}
  Result<MachineLine> parse();

private:
  Error refusal(std::size_t column, const std::string& message) const {
    return {ErrorKind::argument, fmt::format("column {}: {}", column + 1, message)};
  }
  bool at_end() const { return at_ == text_.size(); }
  void skip_white() {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t'))
      ++at_;
  }
  /// Up to one of `ends`, or the end of the line.
  std::string_view word(std::string_view ends) {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(ends, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }
  Status parse_item();
  Status parse_ranks(std::size_t begin);
  Status parse_level(std::string_view name, std::size_t begin);
  Status parse_numbers(LineLevel& level);
  Status parse_number(LineLevel& level);
  void settle_latencies();
  Status settle();

  std::string_view text_;
  const LineDefaults& defaults_;
  std::size_t at_ = 0;
  MachineLine line_;
  std::int64_t places_ = 1;
  std::optional<std::int64_t> ranks_;
  std::size_t ranks_column_ = 0;
  std::ptrdiff_t last_row_ = -1;
  std::uint32_t said_ = 0; ///< of key_rows, in these parentheses
};

Status LineParser::parse_item() {
  const std::size_t begin = at_;
  const std::string_view name = word(":=( \t");
  if (at_end() || text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '(')
    return refusal(begin,
                   fmt::format("'{}' is not LEVEL:COUNT or ranks=N (a level is {})", printable(name), level_names));
  if (text_[at_++] == ':') return parse_level(name, begin);
  if (name != "ranks")
    return refusal(begin,
                   fmt::format("'{}=' stands outside of parentheses, where only ranks= is allowed", printable(name)));
  return parse_ranks(begin);
}

Status LineParser::parse_ranks(std::size_t begin) {
  if (ranks_) return refusal(begin, "ranks= is said twice");
  const std::string_view digits = word(" \t");
  const auto number = strata::parse_number(digits);
  if (!number || *number < 1 || *number > most_ranks)
    return refusal(begin, fmt::format("ranks={} is not allowed (1 to the product of the counts)", printable(digits)));
  ranks_ = static_cast<std::int64_t>(*number);
  ranks_column_ = begin;
  return ok();
}

Status LineParser::parse_level(std::string_view name, std::size_t begin) {
  const auto* const row = std::find_if(std::begin(level_rows), std::end(level_rows),
                                       [&](const LevelRow& known) { return known.name == name; });
  if (row == std::end(level_rows))
    return refusal(begin, fmt::format("'{}' is no level ({})", printable(name), level_names));
  if (row - level_rows <= last_row_)
    return refusal(begin, fmt::format("{} cannot stand behind {}: levels come once each, outermost first ({})", name,
                                      level_rows[last_row_].name, level_names));
  last_row_ = row - level_rows;
  const std::size_t digits_begin = at_;
  const std::string_view digits = word("( \t");
  const auto count = strata::parse_number(digits);
  if (!count || *count < 1 || *count > most_ranks)
    return refusal(digits_begin, fmt::format("{}:{} is not allowed (1 to {})", name, printable(digits), most_ranks));
  places_ *= static_cast<std::int64_t>(*count); // 10^12 at most
  if (places_ > most_ranks)
    return refusal(digits_begin, fmt::format("with {}:{} there are {} ranks; {} at most are allowed", name, digits,
                                             places_, most_ranks));
  LineLevel level;
  level.name = name;
  level.medium = row->medium;
  level.count = static_cast<std::int64_t>(*count);
  level.link = {not_said, row->uplink_per_byte, not_said, not_said, not_said};
  if (!at_end() && text_[at_] == '(')
    if (Status numbers = parse_numbers(level); !numbers) return numbers;
  line_.levels.push_back(std::move(level));
  return ok();
}

// "(key=value, key=value)"
Status LineParser::parse_numbers(LineLevel& level) {
  const std::size_t open = at_++;
  said_ = 0;
  for (;;) {
    skip_white();
    if (Status number = parse_number(level); !number) return number;
    skip_white();
    if (at_end()) return refusal(open, "this '(' is never closed");
    const char next = text_[at_++];
    if (next == ')') break;
    if (next != ',') return refusal(at_ - 1, "between numbers stands ',' and behind the last ')'");
  }
  if (!at_end() && text_[at_] != ' ' && text_[at_] != '\t') return refusal(at_, "behind ')' stands a space");
  return ok();
}

Status LineParser::parse_number(LineLevel& level) {
  const std::size_t begin = at_;
  const std::string_view name = word("=,) \t");
  const auto has = [&](const KeyRow& row) { return row.only == nullptr || row.only == level.name; };
  const auto* const row = std::find_if(std::begin(key_rows), std::end(key_rows),
                                       [&](const KeyRow& known) { return known.name == name && has(known); });
  if (row == std::end(key_rows)) {
    std::string allowed;
    for (const KeyRow& known : key_rows)
      if (has(known)) allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", known.name);
    return refusal(begin, fmt::format("'{}' is no number of a {} ({})", printable(name), level.name, allowed));
  }
  if (at_end() || text_[at_] != '=') return refusal(at_, fmt::format("behind {} stands '='", name));
  const auto bit = std::uint32_t{1} << (row - std::begin(key_rows));
  if ((said_ & bit) != 0) return refusal(begin, fmt::format("{} of this {} is said twice", name, level.name));
  said_ |= bit;
  const std::size_t value_begin = ++at_;
  const std::string_view text = word(",) \t");
  const auto value = value_of(text, row->quantity);
  if (!value)
    return refusal(value_begin,
                   fmt::format("{}={} is not allowed ({})", name, printable(text), allowed_of(row->quantity)));
  if (row->link != nullptr)
    level.link.*row->link = *value;
  else if (row->core != nullptr)
    line_.core.*row->core = *value;
  else
    line_.*row->line = *value;
  return ok();
}

/// What a level adds to the way; of a node's outermost one, what was measured of the whole way may say it.
void LineParser::settle_latencies() {
  double left = defaults_.latency_more;
  for (auto level = line_.levels.rbegin(); level != line_.levels.rend(); ++level) {
    const auto* const row = std::find_if(std::begin(level_rows), std::end(level_rows),
                                         [&](const LevelRow& known) { return known.name == level->name; });
    const bool is_core = level->name == "core";
    const bool is_outermost = level + 1 == line_.levels.rend() || (level + 1)->medium == Medium::network;
    double latency = is_core ? defaults_.memory.latency : row->latency;
    if (level->medium == Medium::memory && !is_core && defaults_.latency_more >= 0)
      latency = is_outermost ? std::max(0.0, left) : std::min(latency, std::max(0.0, left));
    if (level->link.latency < 0) level->link.latency = latency;
    if (!is_core) left -= level->link.latency;
  }
}

// Checks what only the whole line tells, and fills in what it does not say.
Status LineParser::settle() {
  if (line_.levels.empty())
    return refusal(0, fmt::format("a machine has at least one level, such as core:8 (a level is {})", level_names));
  bool has_node = false, has_network = false;
  Link memory = defaults_.memory, network = defaults_.network;
  settle_latencies();
  for (auto level = line_.levels.rbegin(); level != line_.levels.rend(); ++level) {
    Link& inner = level->medium == Medium::memory ? memory : network;
    for (const auto member : {&Link::per_message, &Link::read_per_byte, &Link::reduce_per_byte})
      inner.*member = level->link.*member = level->link.*member < 0 ? inner.*member : level->link.*member;
    if (level->name == "core") line_.core.reduce_per_byte = level->link.reduce_per_byte;
    has_node |= level->name == "node";
    has_network |= level->medium == Medium::network;
  }
  if (has_network && !has_node)
    return refusal(0, fmt::format("{} holds nodes: add node:COUNT behind it", line_.levels.front().name));
  if (ranks_ && *ranks_ > places_)
    return refusal(ranks_column_, fmt::format("ranks={} is not allowed: the levels make {}", *ranks_, places_));
  line_.ranks = ranks_.value_or(places_);
  return ok();
}

Result<MachineLine> LineParser::parse() {
  line_.core = defaults_.core;
  for (skip_white(); !at_end(); skip_white())
    if (Status item = parse_item(); !item) return item.error();
  if (Status whole = settle(); !whole) return whole.error();
  return std::move(line_);
}

} // namespace

LineDefaults line_defaults() { return {memory_defaults, -1, network_defaults, core_defaults}; }

Result<MachineLine> machine_line_from(std::string_view text) { return machine_line_from(text, line_defaults()); }

Result<MachineLine> machine_line_from(std::string_view text, const LineDefaults& defaults) {
  return LineParser(text, defaults).parse();
}

Result<Mapping> mapping_from(std::string_view text) {
  constexpr std::string_view random = "random:";
  if (text == "slot") return Mapping{};
  if (text == "node") return Mapping{Mapping::Kind::node, 0};
  if (text.starts_with(random))
    if (const auto seed = strata::parse_number(text.substr(random.size())))
      return Mapping{Mapping::Kind::random, *seed};
  return argument_error(
      fmt::format("'{}' is no mapping (slot, node, or random:SEED with a whole number)", printable(text)));
}

} // namespace strata::sim
