// SPDX-License-Identifier: BSD-3-Clause
// The network of a machine out of a profile (strata-profile(5)) instead of a line.
#include "base/quantity.h"
#include "base/text.h"
#include "base/text_file.h"
#include "tools/sim.h"
#include "topo/groups.h"
#include "tune/model.h"
#include "tune/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace strata::tools {
namespace {

/// The tier of the profile's level, with the numbers of its slowest group: a tier has one kind of uplink.
sim::Tier tier_of(const tune::HostLevel& level, const tune::Profile& profile, std::span<const std::int64_t> hosts,
                  const sim::Link& inner) {
  std::map<std::string, std::int64_t> group_of_host;
  double latency = 0, uplink = 0;
  const tune::SecondsBySize& messages = profile.messages[static_cast<std::size_t>(topo::LinkKind::uplink)].strata;
  for (const tune::HostGroup& group : level.groups) {
    for (const std::string& host : group.hosts)
      group_of_host.emplace(host, static_cast<std::int64_t>(&group - level.groups.data()));
    latency = std::max(latency, tune::latency_beside(group.latency, messages));
    if (group.uplink > 0) uplink = uplink > 0 ? std::min(uplink, group.uplink) : group.uplink;
  }
  std::vector<std::int64_t> keys(hosts.size());
  std::transform(hosts.begin(), hosts.end(), keys.begin(),
                 [&](std::int64_t host) { return group_of_host.at(profile.hosts[static_cast<std::size_t>(host)]); });
  topo::Level groups = topo::level_of(level.name, keys);
  sim::Link link = inner;
  link.latency = latency; // the caller takes off what lies inside
  link.per_byte = uplink > 0 ? 1 / uplink : 0;
  return {level.name, sim::Medium::network, link, std::move(groups.group_of), groups.groups};
}

/// What the profile says of cores. It has rates of all of them busy, and of one alone where there are no others.
sim::LineDefaults defaults_of(const tune::Profile& profile) {
  tune::Parameters measured = tune::default_parameters();
  tune::take_rates(measured, profile.cache, profile.memory, static_cast<double>(profile.cache_share));
  tune::take_messages(measured, profile.messages);
  const auto numbers = [&](topo::LinkKind kind) { return measured.links[static_cast<std::size_t>(kind)]; };
  const auto has = [&](topo::LinkKind kind) { return profile.messages[static_cast<std::size_t>(kind)].strata[0] > 0; };
  const bool in_cache = has(topo::LinkKind::shared_cache), in_memory = has(topo::LinkKind::shared_memory);
  const tune::LinkParameters near =
      numbers(in_cache || !in_memory ? topo::LinkKind::shared_cache : topo::LinkKind::shared_memory);
  sim::LineDefaults defaults = sim::line_defaults();
  sim::Link& memory = defaults.memory;
  memory.read_per_byte = near.read_per_byte;
  memory.reduce_per_byte = near.reduce_per_byte;
  if (in_cache || in_memory) {
    // The time of a message has both of its steps, and the sender's part.
    const double own = memory.per_message + 2 * defaults.core.step;
    memory.latency = std::max(0.0, near.latency - own);
    if (in_cache && in_memory)
      defaults.latency_more = std::max(0.0, numbers(topo::LinkKind::shared_memory).latency - near.latency);
  }
  const tune::LinkParameters far = numbers(topo::LinkKind::network);
  defaults.network.read_per_byte = far.read_per_byte;
  defaults.network.reduce_per_byte = far.reduce_per_byte;
  defaults.core.copy_per_byte = near.per_byte;
  defaults.core.reduce_per_byte = near.reduce_per_byte;
  defaults.core.cache_bytes = measured.cache_share;
  if (measured.beyond_cache_per_byte > 0)
    defaults.core.beyond_per_byte = near.per_byte + measured.beyond_cache_per_byte;
  return defaults;
}

double latency_between_nodes(const tune::Profile& profile) {
  const auto network = static_cast<std::size_t>(topo::LinkKind::network);
  return tune::latency_beside(profile.latency, profile.messages[network].strata);
}

} // namespace

Result<sim::MachineLine> line_with_profile(const tune::Profile& profile, const std::string& node) {
  // By itself first, so that a complaint names a column of what was written.
  const auto inner = sim::machine_line_from(node);
  if (!inner)
    return inner.error();
  else if (inner->levels.front().medium == sim::Medium::network)
    return argument_error(fmt::format("{} lies outside of a node, and that is the profile's to say (allowed: "
                                      "socket, numa, cache, core)",
                                      inner->levels.front().name));
  std::string numbers;
  if (const double latency = latency_between_nodes(profile); latency > 0)
    numbers += fmt::format("latency={:.9f}s", std::min(latency, 10.0));
  if (profile.bandwidth > 0)
    numbers += fmt::format("{}uplink={:.0f}B/s", numbers.empty() ? "" : ", ", profile.bandwidth);
  if (profile.bandwidth_of_rank > 0)
    numbers += fmt::format("{}rank={:.0f}B/s", numbers.empty() ? "" : ", ", profile.bandwidth_of_rank);
  if (profile.gap > 0 && inner->places_of_node() >= profile.gap_senders)
    numbers += fmt::format("{}gap={}", numbers.empty() ? "" : ", ", duration_text(std::min(profile.gap, 10.0)));
  return sim::machine_line_from(
      fmt::format("node:{}{} {}", profile.hosts.size(), numbers.empty() ? "" : "(" + numbers + ")", node),
      defaults_of(profile));
}

sim::Machine machine_with_profile(const tune::Profile& profile, const sim::MachineLine& line,
                                  const sim::Mapping& mapping) {
  sim::Machine machine = sim::machine_from(line, mapping);
  std::vector<std::int64_t> hosts = sim::places_of(line, mapping);
  for (std::int64_t& place : hosts)
    place /= line.places_of_node();
  double inside = latency_between_nodes(profile);
  for (const tune::HostLevel& level : profile.levels) {
    sim::Tier tier = tier_of(level, profile, hosts, line.levels.front().link);
    // A profile has the latency of the whole way, a machine adds up those of the tiers on it.
    const double whole = std::max(tier.link.latency, inside);
    tier.link.latency = whole - inside;
    inside = whole;
    machine.tiers.push_back(std::move(tier));
  }
  return machine;
}

Result<tune::Profile> profile_in(const std::string& file) {
  const auto text = text_of_file(file, most_file_bytes);
  if (!text) return Error{text.error().kind, fmt::format("cannot read {}: {}", printable(file), text.error().message)};
  return tune::profile_from(*text, file);
}

} // namespace strata::tools
