// SPDX-License-Identifier: BSD-3-Clause
// Reading a profile. Statements may come in any order; what they say of each other is checked when all are read.
#include "base/option_rows.h"
#include "base/options.h"
#include "base/quantity.h"
#include "base/text.h"
#include "tune/host_list.h"
#include "tune/profile.h"
#include "tune/statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>

namespace strata::tune {
namespace {

constexpr const char* level_names[] = {"rack", "island"}; ///< from the inside out

constexpr double least_rate = 1e3, most_rate = 1e15;                                               ///< bytes per second
constexpr double least_latency = 1e-9, most_latency = 10;                                          ///< seconds
constexpr std::uint64_t least_share = std::uint64_t{1} << 10, most_share = std::uint64_t{1} << 40; ///< bytes
constexpr std::uint64_t most_senders = 1000000;                                                    ///< ranks of a node
constexpr double least_factor = 1e-3, most_late = 1e3;

class Reader {
public:
  explicit Reader(const std::string& file) : file_(file) {}
  Result<Profile> read(std::string_view text);

private:
  using Statements = std::vector<Statement>;
  /// What a statement said, and where.
  struct Line {
    std::size_t line;
    std::string what;
    bool operator<(const Line& other) const { return what < other.what; }
  };

  Error refusal(std::size_t line, const std::string& message) const { return refusal_at(file_, line, message); }
  Status take(const Statement& statement);
  Status once(const Statement& statement, std::size_t& line) const;
  Status take_measured(const Statement& statement);
  Status take_hosts(const Statement& statement);
  Status take_node(const Statement& statement);
  Status take_gap(const Statement& statement, const Fields& fields);
  Status take_group(const Statement& statement, std::size_t level);
  Status take_slow(const Statement& statement);
  Status take_asymmetric(const Statement& statement);
  Status take_rates(const Statement& statement, std::size_t& line, MemoryRates& rates);
  Status take_share(const Statement& statement, const Fields& fields);
  Status factor(const Statement& statement, const Fields& fields, const char* key, double& value) const;
  Status take_messages(const Statement& statement);
  enum class Quantity : std::uint8_t { time, rate };
  Status number(const Statement& statement, const Fields& fields, const char* key, double& value) const;
  Status number(const Statement& statement, const Fields& fields, const char* key, Quantity quantity,
                double& value) const;

  Status settle_hosts();
  Status settle_groups(std::size_t level);
  Status settle_nesting() const;
  Status settle_slow() const;
  Status settle_asymmetric() const;
  std::size_t index_of(std::string_view host) const;

  const std::string& file_;
  Profile profile_;
  std::size_t measured_ = 0, node_ = 0, cache_ = 0, memory_ = 0, last_ = 0; ///< lines; 0: not seen
  std::array<std::array<std::size_t, 2>, topo::link_kinds> messages_{};     ///< likewise; by strata, and native
  std::vector<Line> hosts_, slow_, asymmetric_;                             ///< of the last, both hosts of a pair
  struct Groups {
    std::vector<HostGroup> groups;
    std::vector<std::size_t> lines;                       ///< by group
    std::unordered_map<std::string, std::size_t> line_of; ///< by name
    std::vector<std::size_t> group_of;                    ///< by host
    std::size_t hosts = 0;
  };
  std::array<Groups, std::size(level_names)> levels_;
};

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

Status Reader::once(const Statement& statement, std::size_t& line) const {
  if (line != 0)
    return refusal(statement.line,
                   fmt::format("'{}' comes for the second time (first in line {})", statement.words[0], line));
  line = statement.line;
  return ok();
}

/// Reads a latency or a rate.
Status Reader::number(const Statement& statement, const Fields& fields, const char* key, double& value) const {
  return number(statement, fields, key, std::string_view(key) == "latency" ? Quantity::time : Quantity::rate, value);
}

/// Reads a number of a key where it is given, and checks that it is sane.
Status Reader::number(const Statement& statement, const Fields& fields, const char* key, Quantity quantity,
                      double& value) const {
  const auto text = fields.find(key);
  if (!text) return ok();
  const bool is_time = quantity == Quantity::time;
  const auto read = is_time ? duration_from(*text) : rate_from(*text);
  if (!read) return refusal(statement.line, fmt::format("{}: {}", key, read.error().message));
  value = *read;
  const double least = is_time ? least_latency : least_rate, most = is_time ? most_latency : most_rate;
  if (value >= least && value <= most) return ok();
  const auto written = is_time ? duration_text : rate_text;
  return refusal(statement.line, fmt::format("{}={} cannot be ({} to {}; leave out what was not measured)", key,
                                             printable(*text), written(least), written(most)));
}

Status Reader::take_measured(const Statement& statement) {
  if (auto status = once(statement, measured_); !status) return status;
  if (statement.words.size() != 3 || !is_name(statement.words[2]))
    return refusal(statement.line, "'measured' takes a time and a transport (such as 2026-11-21T12:00:00Z ucx)");
  const auto time = time_from(statement.words[1]);
  if (!time) return refusal(statement.line, time.error().message);
  profile_.measured = *time;
  profile_.transport = statement.words[2];
  return ok();
}

Status Reader::take_hosts(const Statement& statement) {
  if (statement.words.size() < 2) return refusal(statement.line, "'host' takes names (such as n1 or n[1-4])");
  for (std::size_t i = 1; i < statement.words.size(); ++i) {
    auto hosts = hosts_of(statement.words[i], most_hosts - hosts_.size());
    if (!hosts) return refusal(statement.line, hosts.error().message);
    for (std::string& host : *hosts)
      hosts_.push_back({statement.line, std::move(host)});
  }
  return ok();
}

Status Reader::take_node(const Statement& statement) {
  constexpr const char* keys[] = {"latency", "bandwidth", "rank", "gap", "senders"};
  if (auto status = once(statement, node_); !status) return status;
  const auto fields = Fields::of(file_, statement, 1, keys);
  if (!fields) return fields.error();
  for (const char* key : {"latency", "bandwidth"})
    if (!fields->find(key))
      return refusal(statement.line, fmt::format("'node' takes latency and bandwidth, and {} is "
                                                 "missing",
                                                 key));
  if (auto status = number(statement, *fields, "latency", profile_.latency); !status) return status;
  if (auto status = number(statement, *fields, "bandwidth", profile_.bandwidth); !status) return status;
  if (auto status = number(statement, *fields, "rank", profile_.bandwidth_of_rank); !status) return status;
  if (auto status = take_gap(statement, *fields); !status) return status;
  if (profile_.bandwidth_of_rank < profile_.bandwidth) return ok();
  return refusal(statement.line,
                 fmt::format("rank={} is not less than bandwidth={} (leave it out where one rank fills a node's links)",
                             printable(*fields->find("rank")), printable(*fields->find("bandwidth"))));
}

Status Reader::take_gap(const Statement& statement, const Fields& fields) {
  if (auto status = number(statement, fields, "gap", Quantity::time, profile_.gap); !status) return status;
  const auto text = fields.find("senders");
  if (text.has_value() != (profile_.gap > 0))
    return refusal(statement.line, "gap= and senders= stand together, or neither does");
  if (!text) return ok();
  const auto senders = parse_number(*text);
  if (!senders || *senders < 1 || *senders > most_senders)
    return refusal(statement.line, fmt::format("senders={} cannot be (1 to {})", printable(*text), most_senders));
  profile_.gap_senders = static_cast<std::int32_t>(*senders);
  return ok();
}

Status Reader::take_group(const Statement& statement, std::size_t level) {
  constexpr const char* keys[] = {"hosts", "latency", "bandwidth", "uplink"};
  Groups& groups = levels_[level];
  if (statement.words.size() < 2 || !is_name(statement.words[1]))
    return refusal(statement.line, fmt::format("'{}' takes a name first (letters, digits and any of -_.+, 64 at most)",
                                               statement.words[0]));
  const auto fields = Fields::of(file_, statement, 2, keys);
  if (!fields) return fields.error();
  HostGroup group;
  group.name = statement.words[1];
  if (const auto [known, is_new] = groups.line_of.emplace(group.name, statement.line); !is_new)
    return refusal(statement.line, fmt::format("{} {} is there for the second time (first in line {})",
                                               statement.words[0], group.name, known->second));
  const auto list = fields->find("hosts");
  if (!list) return refusal(statement.line, fmt::format("{} {} has no hosts=", statement.words[0], group.name));
  auto hosts = hosts_of(*list, most_hosts - groups.hosts);
  if (!hosts) return refusal(statement.line, hosts.error().message);
  groups.hosts += hosts->size();
  group.hosts = std::move(*hosts);
  std::sort(group.hosts.begin(), group.hosts.end());
  if (auto status = number(statement, *fields, "latency", group.latency); !status) return status;
  if (auto status = number(statement, *fields, "bandwidth", group.bandwidth); !status) return status;
  if (auto status = number(statement, *fields, "uplink", group.uplink); !status) return status;
  groups.groups.push_back(std::move(group));
  groups.lines.push_back(statement.line);
  return ok();
}

/// Reads a factor of a key where it is given; `least` to below `most`, or above `least` to `most`.
Status Reader::factor(const Statement& statement, const Fields& fields, const char* key, double& value) const {
  const auto text = fields.find(key);
  if (!text) return ok();
  const auto read = factor_from(*text);
  if (!read) return refusal(statement.line, fmt::format("{}: {}", key, read.error().message));
  value = *read;
  const bool is_latency = std::string_view(key) == "latency";
  if (is_latency ? value > 1 && value <= most_late : value >= least_factor && value < 1) return ok();
  return refusal(statement.line, is_latency
                                     ? fmt::format("latency={} of a slow host cannot be (a factor from above 1 to {})",
                                                   printable(*text), factor_text(most_late))
                                     : fmt::format("{}={} of what is slow cannot be (a factor from {} to below 1)", key,
                                                   printable(*text), factor_text(least_factor)));
}

Status Reader::take_slow(const Statement& statement) {
  constexpr const char* keys[] = {"bandwidth", "sends", "receives", "latency", "cores"};
  if (statement.words.size() < 3)
    return refusal(statement.line,
                   fmt::format("'slow' takes a host and some of {}, with a factor", option_rows::enumerate(keys)));
  const auto fields = Fields::of(file_, statement, 2, keys);
  if (!fields) return fields.error();
  SlowHost slow;
  slow.host = statement.words[1];
  double* const values[] = {&slow.bandwidth, &slow.sends, &slow.receives, &slow.latency, &slow.cores};
  for (std::size_t i = 0; i < std::size(keys); ++i)
    if (auto status = factor(statement, *fields, keys[i], *values[i]); !status) return status;
  slow_.push_back({statement.line, slow.host});
  profile_.slow.push_back(std::move(slow));
  return ok();
}

Status Reader::take_asymmetric(const Statement& statement) {
  constexpr const char* keys[] = {"bandwidth"};
  if (statement.words.size() != 4)
    return refusal(statement.line, "'asymmetric' takes two hosts, from and to, and bandwidth= with a factor");
  const auto fields = Fields::of(file_, statement, 3, keys);
  if (!fields) return fields.error();
  AsymmetricHosts link{std::string(statement.words[1]), std::string(statement.words[2])};
  if (auto status = factor(statement, *fields, "bandwidth", link.bandwidth); !status) return status;
  if (link.from == link.to)
    return refusal(statement.line, fmt::format("'asymmetric' takes two hosts, and {} is one", printable(link.from)));
  asymmetric_.push_back({statement.line, std::min(link.from, link.to) + ' ' + std::max(link.from, link.to)});
  profile_.asymmetric.push_back(std::move(link));
  return ok();
}

Status Reader::take_rates(const Statement& statement, std::size_t& line, MemoryRates& rates) {
  constexpr const char* all_keys[] = {"copy", "copy-all", "reduce", "reduce-all", "share"};
  constexpr std::size_t rate_keys = 4;
  const bool is_cache = &rates == &profile_.cache;
  const std::span<const char* const> keys(all_keys, is_cache ? std::size(all_keys) : rate_keys);
  if (auto status = once(statement, line); !status) return status;
  const auto fields = Fields::of(file_, statement, 1, keys);
  if (!fields) return fields.error();
  if (fields->empty())
    return refusal(statement.line,
                   fmt::format("'{}' takes some of {}", statement.words[0], option_rows::enumerate(keys)));
  double* const values[] = {&rates.copy, &rates.copy_all, &rates.reduce, &rates.reduce_all};
  for (std::size_t i = 0; i < rate_keys; ++i)
    if (auto status = number(statement, *fields, keys[i], *values[i]); !status) return status;
  return is_cache ? take_share(statement, *fields) : ok();
}

Status Reader::take_share(const Statement& statement, const Fields& fields) {
  const auto text = fields.find("share");
  if (!text) return ok();
  const auto bytes = parse_bytes(std::string(*text));
  if (!bytes || *bytes < least_share || *bytes > most_share)
    return refusal(statement.line,
                   fmt::format("share={} cannot be (1K to 1T bytes; leave out what is not known)", printable(*text)));
  profile_.cache_share = *bytes;
  return ok();
}

Status Reader::take_messages(const Statement& statement) {
  constexpr std::array<const char*, 2> libraries{"strata", "native"};
  const auto place = [](const auto& names, std::string_view word) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), word) - names.begin());
  };
  const std::size_t link =
      statement.words.size() < 4 ? topo::link_kinds : place(message_link_names, statement.words[1]);
  const std::size_t by = link == topo::link_kinds ? libraries.size() : place(libraries, statement.words[2]);
  if (by == libraries.size())
    return refusal(statement.line,
                   fmt::format("'messages' takes a link ({}), then who carried them ({}), then some of {}, with a time",
                               option_rows::enumerate(message_link_names), option_rows::enumerate(libraries),
                               option_rows::enumerate(message_size_names)));
  if (auto status = once(statement, messages_[link][by]); !status) return status;
  const auto fields = Fields::of(file_, statement, 3, message_size_names);
  if (!fields) return fields.error();
  MessageTimes& times = profile_.messages[link];
  for (std::size_t size = 0; size < message_sizes.size(); ++size)
    if (auto status = number(statement, *fields, message_size_names[size], Quantity::time,
                             (by == 0 ? times.strata : times.native)[size]);
        !status)
      return status;
  return ok();
}

Status Reader::take(const Statement& statement) {
  const std::string_view keyword = statement.words[0];
  last_ = statement.line;
  if (keyword == "measured") return take_measured(statement);
  if (keyword == "host") return take_hosts(statement);
  if (keyword == "node") return take_node(statement);
  if (keyword == "slow") return take_slow(statement);
  if (keyword == "asymmetric") return take_asymmetric(statement);
  if (keyword == "cache") return take_rates(statement, cache_, profile_.cache);
  if (keyword == "messages") return take_messages(statement);
  if (keyword == "memory") return take_rates(statement, memory_, profile_.memory);
  for (std::size_t level = 0; level < std::size(level_names); ++level)
    if (keyword == level_names[level]) return take_group(statement, level);
  return refusal(
      statement.line,
      fmt::format(
          "'{}' is not known (measured, host, node, rack, island, slow, asymmetric, cache, memory, messages or end)",
          printable(keyword)));
}

std::size_t Reader::index_of(std::string_view host) const {
  const auto place = std::lower_bound(profile_.hosts.begin(), profile_.hosts.end(), host);
  if (place == profile_.hosts.end() || *place != host) return nowhere;
  return static_cast<std::size_t>(place - profile_.hosts.begin());
}

Status Reader::settle_hosts() {
  std::stable_sort(hosts_.begin(), hosts_.end());
  for (std::size_t i = 1; i < hosts_.size(); ++i)
    if (hosts_[i].what == hosts_[i - 1].what)
      return refusal(hosts_[i].line, fmt::format("host {} is there for the second time (first in line {})",
                                                 hosts_[i].what, hosts_[i - 1].line));
  for (Line& host : hosts_)
    profile_.hosts.push_back(std::move(host.what));
  return ok();
}

/// Every host is in one group, if there are any.
Status Reader::settle_groups(std::size_t index) {
  Groups& level = levels_[index];
  if (level.groups.empty()) return ok();
  const char* const name = level_names[index];
  level.group_of.assign(profile_.hosts.size(), nowhere);
  for (std::size_t group = 0; group < level.groups.size(); ++group)
    for (const std::string& host : level.groups[group].hosts) {
      const std::size_t place = index_of(host);
      if (place == nowhere)
        return refusal(level.lines[group],
                       fmt::format("{} {} has host {}, which no 'host' names", name, level.groups[group].name, host));
      const std::size_t before = level.group_of[place];
      if (before != nowhere)
        return refusal(level.lines[group], fmt::format("host {} is in {} {} already (line {})", host, name,
                                                       level.groups[before].name, level.lines[before]));
      level.group_of[place] = group;
    }
  const auto left = std::find(level.group_of.begin(), level.group_of.end(), nowhere);
  if (left != level.group_of.end())
    return refusal(level.lines.back(),
                   fmt::format("host {} is in no {} (either all hosts are in one, or there is none)",
                               profile_.hosts[static_cast<std::size_t>(left - level.group_of.begin())], name));
  return ok();
}

/// An island is made of whole racks.
Status Reader::settle_nesting() const {
  const Groups &racks = levels_[0], &islands = levels_[1];
  if (racks.groups.empty() || islands.groups.empty()) return ok();
  std::vector<std::size_t> first_host(racks.groups.size(), nowhere); // by rack
  for (std::size_t host = 0; host < profile_.hosts.size(); ++host) {
    std::size_t& first = first_host[racks.group_of[host]];
    if (first == nowhere) first = host;
    const std::size_t one = islands.group_of[first], other = islands.group_of[host];
    if (one != other)
      return refusal(islands.lines[other],
                     fmt::format("island {} has host {} of rack {}, but {} of that rack is in island {} (line {}); an "
                                 "island is made of whole racks",
                                 islands.groups[other].name, profile_.hosts[host],
                                 racks.groups[racks.group_of[host]].name, profile_.hosts[first],
                                 islands.groups[one].name, islands.lines[one]));
  }
  return ok();
}

Status Reader::settle_slow() const {
  std::vector<Line> sorted = slow_;
  std::stable_sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (index_of(sorted[i].what) == nowhere)
      return refusal(sorted[i].line, fmt::format("no 'host' names the slow host {}", printable(sorted[i].what)));
    if (i > 0 && sorted[i].what == sorted[i - 1].what)
      return refusal(sorted[i].line, fmt::format("slow host {} is there for the second time (first in line {})",
                                                 sorted[i].what, sorted[i - 1].line));
  }
  return ok();
}

Status Reader::settle_asymmetric() const {
  for (std::size_t i = 0; i < asymmetric_.size(); ++i)
    for (const std::string& host : {profile_.asymmetric[i].from, profile_.asymmetric[i].to})
      if (index_of(host) == nowhere)
        return refusal(asymmetric_[i].line, fmt::format("no 'host' names {} of an asymmetric pair", printable(host)));
  std::vector<Line> sorted = asymmetric_;
  std::stable_sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].what == sorted[i - 1].what)
      return refusal(sorted[i].line, fmt::format("the pair {} is there for the second time (first in line {})",
                                                 sorted[i].what, sorted[i - 1].line));
  return ok();
}

Result<Profile> Reader::read(std::string_view text) {
  const auto statements = statements_of(text, file_, profile_format);
  if (!statements) return statements.error();
  for (const Statement& statement : *statements)
    if (auto status = take(statement); !status) return status.error();
  last_ = std::max<std::size_t>(last_, 1);
  if (measured_ == 0) return refusal(last_, "nothing says when and over what it was 'measured'");
  if (hosts_.empty()) return refusal(last_, "there is no 'host'");
  if (hosts_.size() > 1 && node_ == 0) return refusal(last_, "there is no 'node' with latency and bandwidth");
  if (auto status = settle_hosts(); !status) return status.error();
  for (std::size_t level = 0; level < levels_.size(); ++level)
    if (auto status = settle_groups(level); !status) return status.error();
  if (auto status = settle_nesting(); !status) return status.error();
  if (auto status = settle_slow(); !status) return status.error();
  if (auto status = settle_asymmetric(); !status) return status.error();
  for (std::size_t level = 0; level < levels_.size(); ++level)
    if (!levels_[level].groups.empty())
      profile_.levels.push_back({level_names[level], std::move(levels_[level].groups)});
  return std::move(profile_);
}

} // namespace

Result<Profile> profile_from(std::string_view text, const std::string& file) { return Reader(file).read(text); }

} // namespace strata::tune
