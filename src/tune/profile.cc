// SPDX-License-Identifier: BSD-3-Clause
#include "tune/profile.h"

#include "base/number_runs.h"
#include "topo/groups.h"
#include "tune/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace strata::tune {
namespace {

/// "n[7-9],m1 and 40 more".
std::string listed(const std::set<std::string>& hosts) {
  constexpr std::size_t most = 8;
  const std::vector<std::string> items = host_items(std::vector<std::string>(hosts.begin(), hosts.end()));
  const auto shown = std::min(most, items.size());
  std::string text =
      fmt::format("{}", fmt::join(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(shown), ","));
  if (shown < items.size()) text += fmt::format(" and {} more", items.size() - shown);
  return text;
}

/// By rank, the number of the group of its host, or -1.
std::vector<std::int64_t> group_of_rank(const HostLevel& level, std::span<const std::string> host_of_rank) {
  std::unordered_map<std::string_view, std::int64_t> group_of;
  for (std::size_t group = 0; group < level.groups.size(); ++group)
    for (const std::string& host : level.groups[group].hosts)
      group_of.emplace(host, static_cast<std::int64_t>(group));
  std::vector<std::int64_t> groups;
  for (const std::string& host : host_of_rank) {
    const auto place = group_of.find(host);
    groups.push_back(place == group_of.end() ? -1 : place->second);
  }
  return groups;
}

/// Whether the groups of `level` are unions of those of `inner`.
Status check_nesting(const topo::Level& inner, const topo::Level& level) {
  const std::int32_t group = topo::first_divided(inner, level);
  if (group < 0) return ok();
  return argument_error(fmt::format("the profile divides ranks {}, which are one {}, among several groups of level {}",
                                    number_list(topo::ranks_of(inner, group)), inner.name, level.name));
}

/// What joins the groups of a level.
topo::LinkKind link_beyond(const HostLevel& level) {
  const bool shared =
      std::any_of(level.groups.begin(), level.groups.end(), [](const HostGroup& group) { return group.uplink > 0; });
  return shared ? topo::LinkKind::uplink : topo::LinkKind::network;
}

} // namespace

bool tells_of_messages(const Profile& profile) {
  return profile.messages[static_cast<std::size_t>(topo::LinkKind::network)].strata.front() > 0;
}

Status check(const Profile& profile) {
  const auto again = profile_from(to_text(profile), "profile");
  if (!again) return again.error();
  if (!(*again == profile))
    return argument_error(
        "profile: its hosts, or those of a group, are not sorted, or its levels not from the inside out");
  return ok();
}

Profile narrowed_to(const Profile& profile, std::span<const std::string> hosts) {
  const auto is_kept = [&](const std::string& host) { return std::binary_search(hosts.begin(), hosts.end(), host); };
  const auto is_other = [&](const std::string& host) { return !is_kept(host); };
  Profile part = profile;
  std::erase_if(part.hosts, is_other);
  for (HostLevel& level : part.levels) {
    for (HostGroup& group : level.groups)
      std::erase_if(group.hosts, is_other);
    std::erase_if(level.groups, [](const HostGroup& group) { return group.hosts.empty(); });
  }
  std::erase_if(part.levels, [](const HostLevel& level) { return level.groups.size() < 2; });
  std::erase_if(part.slow, [&](const SlowHost& slow) { return is_other(slow.host); });
  std::erase_if(part.asymmetric, [&](const AsymmetricHosts& pair) { return is_other(pair.from) || is_other(pair.to); });
  return part;
}

Result<topo::Hierarchy> hierarchy_with(const Profile& profile, std::span<const topo::RankFacts> facts,
                                       std::span<const std::string> host_of_rank) {
  if (facts.size() != host_of_rank.size())
    return argument_error(fmt::format("{} ranks have facts, and {} a host", facts.size(), host_of_rank.size()));
  const std::set<std::string> hosts(host_of_rank.begin(), host_of_rank.end());
  std::set<std::string> lacking;
  for (const std::string& host : hosts)
    if (!std::binary_search(profile.hosts.begin(), profile.hosts.end(), host)) lacking.insert(host);
  if (!lacking.empty())
    return argument_error(
        fmt::format("the profile lacks {} of the {} hosts: {}", lacking.size(), hosts.size(), listed(lacking)));

  std::vector<std::int64_t> memory_groups;
  for (const topo::RankFacts& fact : facts)
    memory_groups.push_back(fact.memory_group);
  topo::Level inner = topo::level_of("node", memory_groups);
  topo::Hierarchy hierarchy = topo::hierarchy_from(facts);
  for (const HostLevel& host_level : profile.levels) {
    topo::Level level = topo::level_of(host_level.name, group_of_rank(host_level, host_of_rank));
    if (auto status = check_nesting(inner, level); !status) return status.error();
    if (level.groups == static_cast<std::int32_t>(hosts.size())) continue; // a host may have several memory groups
    if (topo::insert_level(hierarchy, level, link_beyond(host_level))) inner = std::move(level);
  }
  return hierarchy;
}

} // namespace strata::tune
