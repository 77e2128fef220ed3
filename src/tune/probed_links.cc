// SPDX-License-Identifier: BSD-3-Clause
#include "tune/probed_links.h"

#include "base/quantity.h"
#include "base/text.h"
#include "tune/statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace strata::tune {
namespace {

/// The switch that all nodes of the rack, and no others, are at; else empty.
std::string switch_of(std::int32_t rack, const topo::Racks& racks, const NodeNames& names) {
  std::string name;
  if (names.switches.size() != names.hosts.size()) return name;
  for (std::size_t node = 0; node < names.switches.size() && name.empty(); ++node)
    if (racks.rack_of[node] == rack) name = names.switches[node];
  for (std::size_t node = 0; node < names.switches.size(); ++node)
    if ((racks.rack_of[node] == rack) != (names.switches[node] == name)) return "";
  return is_name(name) ? name : "";
}

HostLevel racks_in(const Probe& probe, const NodeNames& names) {
  const topo::Racks& racks = probe.racks();
  const double inside = rounded_measurement(probe.latency()), across = rounded_measurement(probe.latency_across());
  HostLevel level{"rack", {}};
  std::vector<std::string> switches;
  for (std::int32_t rack = 0; rack < racks.racks; ++rack)
    switches.push_back(switch_of(rack, racks, names));
  // A switch may be called r0.
  const bool named = std::find(switches.begin(), switches.end(), std::string()) == switches.end();
  for (std::int32_t rack = 0; rack < racks.racks; ++rack) {
    HostGroup group;
    group.name = named ? switches[static_cast<std::size_t>(rack)] : fmt::format("r{}", rack);
    for (std::size_t node = 0; node < names.hosts.size(); ++node)
      if (racks.rack_of[node] == rack) group.hosts.push_back(names.hosts[node]);
    std::sort(group.hosts.begin(), group.hosts.end());
    if (across > inside) group.latency = across;
    group.uplink = rounded_measurement(racks.uplink);
    level.groups.push_back(std::move(group));
  }
  return level;
}

std::vector<SlowHost> slow_hosts(const topo::Outliers& outliers, std::span<const std::string> host_of_node) {
  std::map<std::string, SlowHost> slow;
  const auto of_node = [&](std::int32_t node) -> SlowHost& {
    const std::string& host = host_of_node[static_cast<std::size_t>(node)];
    slow[host].host = host;
    return slow[host];
  };
  for (const topo::SlowCard& card : outliers.cards) {
    SlowHost& host = of_node(card.node);
    if (card.sends < 1 && card.receives < 1)
      host.bandwidth = rounded_measurement(std::min(card.sends, card.receives));
    else
      (card.sends < 1 ? host.sends : host.receives) = rounded_measurement(std::min(card.sends, card.receives));
  }
  for (const topo::SlowNode& node : outliers.nodes)
    of_node(node.node).latency = rounded_measurement(node.latency);
  for (const topo::SlowCores& cores : outliers.cores)
    of_node(cores.node).cores = rounded_measurement(cores.rate);
  std::vector<SlowHost> hosts;
  for (auto& [name, host] : slow)
    hosts.push_back(std::move(host));
  return hosts;
}

} // namespace

Profile profile_of(const Probe& probe, const NodeNames& names, const std::string& transport, std::int64_t now) {
  const std::vector<std::string>& host_of_node = names.hosts;
  const topo::Racks& racks = probe.racks();
  Profile profile;
  profile.measured = now;
  profile.transport = transport;
  profile.hosts.assign(host_of_node.begin(), host_of_node.end());
  std::sort(profile.hosts.begin(), profile.hosts.end());
  profile.latency = rounded_measurement(probe.latency());
  profile.bandwidth = rounded_measurement(racks.node_rate);
  profile.bandwidth_of_rank = rounded_measurement(probe.rate_of_rank());
  if (racks.racks > 1) profile.levels.push_back(racks_in(probe, names));
  profile.slow = slow_hosts(probe.outliers(), host_of_node);
  for (const topo::AsymmetricLink& link : probe.outliers().links)
    profile.asymmetric.push_back({host_of_node[static_cast<std::size_t>(link.from)],
                                  host_of_node[static_cast<std::size_t>(link.to)],
                                  rounded_measurement(link.bandwidth)});
  for (const auto& [rounded, rates] :
       {std::pair{&profile.cache, &probe.cache()}, std::pair{&profile.memory, &probe.memory()}})
    *rounded = {rounded_measurement(rates->copy), rounded_measurement(rates->copy_all),
                rounded_measurement(rates->reduce), rounded_measurement(rates->reduce_all)};
  constexpr double whole = 1024; // as its text has it
  profile.cache_share = static_cast<std::uint64_t>(probe.cache_share() / whole) * static_cast<std::uint64_t>(whole);
  profile.gap = rounded_measurement(probe.gap().value_or(0));
  profile.gap_senders = probe.gap_senders();
  profile.messages = probe.messages();
  for (MessageTimes& link : profile.messages)
    for (SecondsBySize* times : {&link.strata, &link.native})
      for (double& seconds : *times)
        seconds = rounded_measurement(seconds);
  return profile;
}

std::vector<std::string> findings(const Profile& profile) {
  std::vector<std::string> phrases;
  for (const SlowHost& slow : profile.slow) {
    const auto card = [&](const char* what, double factor) {
      if (factor < 1)
        phrases.push_back(
            fmt::format("slow network card of {}: {} {:.0f}% of the others' bandwidth", slow.host, what, 100 * factor));
    };
    card("it has", slow.bandwidth);
    card("it sends with", slow.sends);
    card("it receives with", slow.receives);
    if (slow.latency > 1)
      phrases.push_back(
          fmt::format("slow node {}: its messages take {:.1f} times as long as the others'", slow.host, slow.latency));
    if (slow.cores < 1)
      phrases.push_back(fmt::format("slow node {}: its cores copy and reduce {:.0f}% of what the others' do", slow.host,
                                    100 * slow.cores));
  }
  for (const AsymmetricHosts& link : profile.asymmetric)
    phrases.push_back(fmt::format("asymmetric link from {} to {}: {:.0f}% of the rate of the other way", link.from,
                                  link.to, 100 * link.bandwidth));
  return phrases;
}

std::string sentence_of(const MemoryRates& cache, const MemoryRates& memory) {
  const auto of = [](const MemoryRates& rates) {
    return fmt::format("copies {:.3g} GB/s, {:.3g} when all do, and sums {:.3g} GB/s, {:.3g} when all do",
                       rates.copy / 1e9, rates.copy_all / 1e9, rates.reduce / 1e9, rates.reduce_all / 1e9);
  };
  return fmt::format("in its cache a core {}; in memory it {}", of(cache), of(memory));
}

std::string sentence_of_gap(double gap) {
  if (gap <= 0) return "messages of all ranks at once hardly hinder each other";
  return fmt::format("messages of all ranks at once: a node sends one every {}", format_duration(gap));
}

std::vector<std::string> sentences_of(const MessageTimesByLink& messages) {
  constexpr std::array<const char*, topo::link_kinds> where{"in one cache", "between caches of a node", "between nodes",
                                                            "between racks"};
  const auto list = [](const SecondsBySize& times) {
    std::string text;
    for (std::size_t size = 0; size < message_sizes.size(); ++size)
      if (times[size] > 0)
        text +=
            fmt::format("{}{} {}", text.empty() ? "" : ", ", message_size_names[size], format_duration(times[size]));
    return text;
  };
  std::vector<std::string> lines;
  for (std::size_t link = 0; link < topo::link_kinds; ++link) {
    const std::string ours = list(messages[link].strata), native = list(messages[link].native);
    if (ours.empty() && native.empty()) continue;
    std::string line = fmt::format("messages {}: {}", where[link], ours.empty() ? "not measured" : ours);
    if (!native.empty()) line += "; the MPI library's " + native;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string sentence_of(const Probe& probe, const NodeNames& names) {
  const topo::Racks& racks = probe.racks();
  const std::vector<std::string>& host_of_node = names.hosts;
  std::string of_ranks;
  if (probe.rate_of_rank() > 0)
    of_ranks =
        fmt::format(" ({} ranks of each; one alone has {:.4g} MB/s)", probe.senders(), probe.rate_of_rank() / 1e6);
  std::string line = fmt::format("{} nodes measured in {} rounds, {}: {:.4g} MB/s{} and {} from node to node, {:.0f}% "
                                 "of the rate beside others",
                                 host_of_node.size(), probe.rounds(), format_duration(probe.spent()),
                                 racks.node_rate / 1e6, of_ranks, format_duration(probe.latency()), 100 * racks.inside);
  for (std::int32_t rack = 0; racks.racks > 1 && rack < racks.racks; ++rack) {
    if (rack == 0) {
      line += fmt::format(" in a rack, {:.0f}% across; uplinks of {:.4g} MB/s", 100 * racks.across, racks.uplink / 1e6);
      if (probe.latency_across() > 0) line += " and " + format_duration(probe.latency_across());
    }
    line += fmt::format("{} rack {}:", rack == 0 ? ";" : ",", rack);
    for (std::size_t node = 0; node < racks.rack_of.size(); ++node)
      if (racks.rack_of[node] == rack) line += " " + host_of_node[node];
    if (const std::string name = switch_of(rack, racks, names); !name.empty())
      line += fmt::format(" (switch {})", name);
  }
  if (const auto confirmed = probe.guess_confirmed())
    line += *confirmed ? "; the scheduler's switches are these racks" : "; the scheduler's switches are no such racks";
  constexpr std::size_t most = 8;
  const std::vector<std::string> phrases = findings(profile_of(probe, names, "", 0));
  for (std::size_t i = 0; i < std::min(most, phrases.size()); ++i)
    line += "; " + phrases[i];
  if (phrases.size() > most) line += fmt::format("; and {} more of this kind", phrases.size() - most);
  return line;
}

} // namespace strata::tune
