// SPDX-License-Identifier: BSD-3-Clause
// The links of a job as they were measured: the part "links" of the document, and what the tree says of it.
#include "base/quantity.h"
#include "tools/info.h"
#include "topo/groups.h"
#include "tune/link_numbers.h"
#include "tune/probed_links.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace strata::tools {
namespace {

using nlohmann::json;

json number_or_null(double value) { return value > 0 ? json(value) : json(nullptr); }

json level_facts(const tune::Profile& profile, const topo::Hierarchy& hierarchy,
                 const std::vector<std::string>& hosts) {
  json rows = json::array();
  const std::vector<std::int32_t> members = topo::most_members(hierarchy);
  const std::vector<tune::LevelNumbers> numbers = tune::numbers_of(profile, hierarchy, hosts);
  for (std::size_t l = 0; l < numbers.size(); ++l) {
    json groups = json::array();
    for (const tune::GroupNumbers& group : numbers[l].groups)
      groups.push_back({{"name", group.name}, {"uplink_bytes_per_second", number_or_null(group.uplink)}});
    rows.push_back({{"name", hierarchy.levels[l].name},
                    {"link", to_text(hierarchy.levels[l].link)},
                    {"members", members[l]},
                    {"latency_seconds", number_or_null(numbers[l].latency)},
                    {"bytes_per_second", number_or_null(numbers[l].bandwidth)},
                    {"groups", groups}});
  }
  return rows;
}

json rate_facts(const tune::MemoryRates& rates) {
  return {{"copy", number_or_null(rates.copy)},
          {"copy_all", number_or_null(rates.copy_all)},
          {"reduce", number_or_null(rates.reduce)},
          {"reduce_all", number_or_null(rates.reduce_all)}};
}

/// By link and library, seconds by size.
json message_facts(const tune::MessageTimesByLink& messages) {
  const auto by_size = [](const tune::SecondsBySize& seconds) {
    json sizes = json::object();
    for (std::size_t size = 0; size < tune::message_sizes.size(); ++size)
      sizes[std::to_string(tune::message_sizes[size])] = number_or_null(seconds[size]);
    return sizes;
  };
  json links = json::object();
  for (std::size_t link = 0; link < topo::link_kinds; ++link)
    if (messages[link] != tune::MessageTimes{})
      links[tune::message_link_names[link]] = {{"strata", by_size(messages[link].strata)},
                                               {"native", by_size(messages[link].native)}};
  return links;
}

tune::MessageTimesByLink messages_of(const json& facts) {
  tune::MessageTimesByLink messages{};
  for (std::size_t link = 0; link < topo::link_kinds; ++link) {
    if (!facts.contains(tune::message_link_names[link])) continue;
    const json& row = facts[tune::message_link_names[link]];
    for (const auto& [name, seconds] :
         {std::pair{"strata", &messages[link].strata}, std::pair{"native", &messages[link].native}})
      for (std::size_t size = 0; size < tune::message_sizes.size(); ++size)
        if (const json& one = row[name][std::to_string(tune::message_sizes[size])]; one.is_number())
          (*seconds)[size] = one.get<double>();
  }
  return messages;
}

std::string age_text(std::int64_t seconds) {
  const std::int64_t minute = 60, hour = 60 * minute, day = 24 * hour;
  if (seconds < 2 * minute) return fmt::format("{} s ago", std::max<std::int64_t>(0, seconds));
  if (seconds < 2 * hour) return fmt::format("{} min ago", seconds / minute);
  return seconds < 2 * day ? fmt::format("{} h ago", seconds / hour) : fmt::format("{} days ago", seconds / day);
}

/// Of a group between nodes: "118.6MB/s and 25us between its nodes".
std::string inside_text(const json& links, std::size_t level) {
  const json& row = links["levels"][level];
  if (!row["bytes_per_second"].is_number() || !row["latency_seconds"].is_number()) return "";
  std::string members = "node";
  if (level > 0)
    if (const json& below = links["levels"][level - 1]; below["bytes_per_second"].is_number())
      members = below["name"].get<std::string>();
  return fmt::format("{} and {} between its {}s", rate_text(row["bytes_per_second"].get<double>()),
                     duration_text(row["latency_seconds"].get<double>()), members);
}

} // namespace

json links_facts(const tune::Profile& profile, const json& job, std::int64_t now) {
  const auto hosts = job["hosts"].get<std::vector<std::string>>();
  json slow = json::array(), asymmetric = json::array();
  for (const tune::SlowHost& host : profile.slow)
    slow.push_back({{"host", host.host},
                    {"bandwidth", host.bandwidth},
                    {"sends", host.sends},
                    {"receives", host.receives},
                    {"latency", host.latency},
                    {"cores", host.cores}});
  for (const tune::AsymmetricHosts& link : profile.asymmetric)
    asymmetric.push_back({{"from", link.from}, {"to", link.to}, {"bandwidth", link.bandwidth}});
  json facts = job["links"];
  facts.update({{"measured", time_text(profile.measured)},
                {"age_seconds", now - profile.measured},
                {"transport", profile.transport},
                {"bytes_per_second_of_rank", number_or_null(profile.bandwidth_of_rank)},
                {"gap_seconds", number_or_null(profile.gap)},
                {"gap_senders", number_or_null(profile.gap_senders)},
                {"levels", level_facts(profile, hierarchy_of(job), hosts)},
                {"slow", slow},
                {"asymmetric", asymmetric},
                {"findings", tune::findings(profile)},
                {"cache", rate_facts(profile.cache)},
                {"memory", rate_facts(profile.memory)},
                {"cache_share", number_or_null(static_cast<double>(profile.cache_share))},
                {"messages", message_facts(profile.messages)}});
  return facts;
}

topo::Remarks link_remarks(const json& job) {
  topo::Remarks remarks;
  if (!job.contains("links") || !job["links"].contains("levels")) return remarks;
  const json& links = job["links"];
  for (std::size_t level = 0; level < links["levels"].size(); ++level) {
    std::vector<std::string>& of_groups = remarks.emplace_back();
    const std::string inside = inside_text(links, level);
    const json& groups = links["levels"][level]["groups"];
    for (std::size_t group = 0; group < groups.size(); ++group) {
      std::string remark;
      const auto add = [&](const std::string& part) { remark += (remark.empty() || part.empty() ? "" : ", ") + part; };
      const auto name = groups[group]["name"].get<std::string>();
      add(name == fmt::format("r{}", group) ? "" : name);
      add(inside);
      if (const json& uplink = groups[group]["uplink_bytes_per_second"]; uplink.is_number())
        add("uplink of " + rate_text(uplink.get<double>()));
      of_groups.push_back(std::move(remark));
    }
  }
  return remarks;
}

std::vector<std::string> rank_labels(const json& job) {
  auto labels = job["hosts"].get<std::vector<std::string>>();
  if (!job.contains("links") || !job["links"].contains("levels")) return labels;
  for (std::string& label : labels) {
    const std::string host = label;
    for (const json& slow : job["links"]["slow"])
      if (slow["host"] == host) label += ", slow";
    for (const json& link : job["links"]["asymmetric"])
      if (link["from"] == host) label += ", asymmetric to " + link["to"].get<std::string>();
  }
  return labels;
}

std::vector<std::string> link_lines(const json& job) {
  std::vector<std::string> lines;
  if (!job.contains("links")) return lines;
  const json& links = job["links"];
  if (job["nodes"].get<int>() < 2 && !links.contains("levels")) return lines;
  if (!links.contains("levels")) {
    lines.push_back("links between nodes: not measured (--measure does; so do programs while they run)");
  } else {
    const auto path = links["path"].get<std::string>();
    lines.push_back(fmt::format(
        "{}: measured {} ({}) over {}, by {}{}", job["nodes"].get<int>() < 2 ? "this node" : "links between nodes",
        links["measured"].get<std::string>(), age_text(links["age_seconds"].get<std::int64_t>()),
        links["transport"].get<std::string>(), links["origin"].get<std::string>(),
        path.empty() ? "" : " (" + path + ")"));
    for (const json& finding : links["findings"])
      lines.push_back("  " + finding.get<std::string>());
    if (const json& rank = links["bytes_per_second_of_rank"]; rank.is_number())
      lines.push_back(fmt::format("  it takes several ranks to fill the links of a node: one alone has {}",
                                  rate_text(rank.get<double>())));
    const auto rates = [&](const char* where) {
      const json& row = links[where];
      const auto of = [&](const char* what) { return row[what].is_number() ? row[what].get<double>() : 0.0; };
      return tune::MemoryRates{of("copy"), of("copy_all"), of("reduce"), of("reduce_all")};
    };
    if (const tune::MemoryRates cache = rates("cache"), memory = rates("memory"); cache.copy > 0 && memory.copy > 0)
      lines.push_back("  " + tune::sentence_of(cache, memory));
    for (const std::string& line : tune::sentences_of(messages_of(links["messages"])))
      lines.push_back("  " + line);
    if (const json& gap = links["gap_seconds"]; gap.is_number())
      lines.push_back("  " + tune::sentence_of_gap(gap.get<double>()));
  }
  std::map<std::string, std::set<std::string>> at_switch;
  const json& switches = job["switches"];
  for (std::size_t rank = 0; rank < switches.size(); ++rank)
    if (const auto name = switches[rank].get<std::string>(); !name.empty())
      at_switch[name].insert(job["hosts"][rank].get<std::string>());
  for (const auto& [name, hosts] : at_switch)
    lines.push_back(fmt::format("switch {} by the scheduler's word: {}", name, fmt::join(hosts, " ")));
  return lines;
}

} // namespace strata::tools
