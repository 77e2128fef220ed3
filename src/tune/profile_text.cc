// SPDX-License-Identifier: BSD-3-Clause
// Writing a profile.
#include "base/options.h"
#include "base/quantity.h"
#include "tune/host_list.h"
#include "tune/profile.h"
#include "tune/statement.h"

#include <fmt/format.h>

#include <utility>

namespace strata::tune {
namespace {

void write_hosts(StatementWriter& writer, const Profile& profile) {
  constexpr std::size_t width = 100;
  std::string line;
  for (const std::string& item : host_items(profile.hosts)) {
    if (!line.empty() && line.size() + item.size() > width) {
      writer.line("host{}", line);
      line.clear();
    }
    line += ' ' + item;
  }
  if (!line.empty()) writer.line("host{}", line);
}

std::string rate_field(const char* key, double rate) {
  return rate == 0 ? "" : fmt::format(" {}={}", key, rate_text(rate));
}

std::string time_field(const char* key, double seconds) {
  return seconds == 0 ? "" : fmt::format(" {}={}", key, duration_text(seconds));
}

std::string factor_field(const char* key, double factor) {
  return factor == 1 ? "" : fmt::format(" {}={}", key, factor_text(factor));
}

std::string message_fields(const SecondsBySize& seconds) {
  std::string fields;
  for (std::size_t size = 0; size < message_sizes.size(); ++size)
    if (seconds[size] != 0) fields += fmt::format(" {}={}", message_size_names[size], duration_text(seconds[size]));
  return fields;
}

} // namespace

std::string to_text(const Profile& profile) {
  StatementWriter writer;
  writer.line("measured {} {}", time_text(profile.measured), profile.transport);
  write_hosts(writer, profile);
  if (profile.latency != 0 || profile.bandwidth != 0)
    writer.line("node{}{}{}{}{}", time_field("latency", profile.latency), rate_field("bandwidth", profile.bandwidth),
                rate_field("rank", profile.bandwidth_of_rank), time_field("gap", profile.gap),
                profile.gap == 0 ? "" : fmt::format(" senders={}", profile.gap_senders));
  for (const HostLevel& level : profile.levels)
    for (const HostGroup& group : level.groups) {
      const std::vector<std::string> items = host_items(group.hosts);
      writer.line("{} {} hosts={}{}{}{}", level.name, group.name, fmt::join(items.begin(), items.end(), ","),
                  time_field("latency", group.latency), rate_field("bandwidth", group.bandwidth),
                  rate_field("uplink", group.uplink));
    }
  for (const SlowHost& slow : profile.slow)
    writer.line("slow {}{}{}{}{}{}", slow.host, factor_field("bandwidth", slow.bandwidth),
                factor_field("sends", slow.sends), factor_field("receives", slow.receives),
                factor_field("latency", slow.latency), factor_field("cores", slow.cores));
  for (const AsymmetricHosts& link : profile.asymmetric)
    writer.line("asymmetric {} {} bandwidth={}", link.from, link.to, factor_text(link.bandwidth));
  for (const auto& [where, rates] : {std::pair{"cache", &profile.cache}, std::pair{"memory", &profile.memory}}) {
    const bool has_share = rates == &profile.cache && profile.cache_share != 0;
    const std::string fields = (has_share ? fmt::format(" share={}", format_bytes(profile.cache_share)) : "") +
                               rate_field("copy", rates->copy) + rate_field("copy-all", rates->copy_all) +
                               rate_field("reduce", rates->reduce) + rate_field("reduce-all", rates->reduce_all);
    if (!fields.empty()) writer.line("{}{}", where, fields);
  }
  for (std::size_t link = 0; link < topo::link_kinds; ++link)
    for (const auto& [by, seconds] :
         {std::pair{"strata", &profile.messages[link].strata}, std::pair{"native", &profile.messages[link].native}})
      if (const std::string fields = message_fields(*seconds); !fields.empty())
        writer.line("messages {} {}{}", message_link_names[link], by, fields);
  return writer.finish(profile_format, "What was measured of the links between these hosts; see strata-profile(5).");
}

} // namespace strata::tune
