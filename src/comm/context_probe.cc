// SPDX-License-Identifier: BSD-3-Clause
// Measuring the links between nodes, a round at a time, at the beginning of calls that have paid for it; and planning
// anew when that shows what was not known.
//
// All ranks keep the same account (the times of calls are those that a trial has agreed on), so all know without a
// message that a round is due. In a round the first rank of each node exchanges data with that of another node, both
// ways, all nodes at once; the other ranks wait.
#include "comm/context.h"

#include "base/log.h"
#include "base/quantity.h"
#include "base/text.h"
#include "comm/link_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace strata::comm {
namespace {

using Clock = std::chrono::steady_clock;

/// Every rank keeps a table of pairs of nodes: 16 MiB for so many.
constexpr std::int32_t most_probed_nodes = 1024;
constexpr std::size_t least_message = std::size_t{4} << 10, most_message = std::size_t{256} << 10;
constexpr double seconds_to_connect = 5;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Both directions between this rank and another, one channel each, so that neither holds the other up.
class Exchange {
public:
  Exchange(transport::Links& links, std::int32_t self, std::int32_t ranks, std::int32_t peer, std::uint32_t first_plan,
           std::size_t message_bytes) {
    for (const bool ascending : {true, false}) {
      const auto side = (self < peer) == ascending ? LinkFlow::Side::sender : LinkFlow::Side::receiver;
      auto flow = LinkFlow::prepare(links, ranks, peer, side, first_plan + (ascending ? 0 : 1), message_bytes);
      if (!flow) return;
      flows_.push_back(std::move(*flow));
      outgoing_ = side == LinkFlow::Side::sender ? flows_.size() - 1 : outgoing_;
    }
  }
  /// Whether both directions can begin; waits for that. No connection is to be made in the time that counts.
  bool prepare(double patience, engine::Waiter waiter) {
    const Clock::time_point start = Clock::now();
    for (LinkFlow& flow : flows_)
      while (!flow.connected()) {
        if (flow.failure() != nullptr || seconds_since(start) > patience) return false;
        waiter.step(true);
      }
    return flows_.size() == 2;
  }

  tune::Probe::Observation run(double seconds, double patience, engine::Waiter waiter, bool crowded) {
    const Clock::time_point start = Clock::now();
    for (LinkFlow& flow : flows_)
      flow.start(seconds);
    tune::Probe::Observation seen;
    for (bool over = false; !over && seen.failed == 0;) {
      bool moved = false;
      over = true;
      for (LinkFlow& flow : flows_) {
        moved |= flow.advance();
        over &= flow.finished();
        if (flow.failure() != nullptr || seconds_since(start) > patience) seen.failed = 1;
      }
      if (moved)
        waiter.reset();
      else
        waiter.step(crowded);
    }
    seen.received = flows_[1 - outgoing_].rate();
    seen.latency = flows_[outgoing_].latency();
    return seen;
  }

private:
  std::vector<LinkFlow> flows_;
  std::size_t outgoing_ = 0;
};

} // namespace

/// Whether what is measured may change what runs.
bool Context::may_adopt_links() const {
  return (options_.tune == Tune::online || (options_.tune == Tune::file && !follows_table())) &&
         !options_.reproducible && options_.levels.empty() && options_.algorithm.empty();
}

void Context::prepare_probe() {
  if (options_.probe == 0 || !may_adopt_links() || cannot_probe_) return;
  if (situation_.job.nodes < 2 || situation_.job.nodes > most_probed_nodes) return;
  probe_ = std::make_unique<tune::Probe>(situation_.job.nodes, static_cast<double>(options_.probe) / 100);
}

/// The first rank of each node.
std::vector<std::int32_t> Context::first_ranks() const {
  std::vector<std::int32_t> first(static_cast<std::size_t>(situation_.job.nodes), -1);
  for (std::size_t rank = 0; rank < facts_.size(); ++rank) {
    std::int32_t& known = first[static_cast<std::size_t>(facts_[rank].memory_group)];
    if (known < 0) known = static_cast<std::int32_t>(rank);
  }
  return first;
}

/// False when a pair could not exchange: then there is no probe any more.
bool Context::probe_links() {
  const std::vector<std::int32_t> first = first_ranks();
  const auto node = static_cast<std::size_t>(facts_[static_cast<std::size_t>(rank_)].memory_group);
  const std::int32_t partner = probe_->partners()[node];
  const std::uint32_t plan = std::exchange(next_plan_, next_plan_ + 2);
  const std::size_t wire = situation_.wire_bytes != 0 ? situation_.wire_bytes : most_message;
  const std::size_t message = std::clamp(wire, least_message, most_message);
  const bool crowded = crowding_ == engine::Crowding::crowded;
  std::unique_ptr<Exchange> exchange;
  if (first[node] == rank_ && partner >= 0)
    exchange = std::make_unique<Exchange>(*links_.back(), rank_, ranks_, first[static_cast<std::size_t>(partner)], plan,
                                          message);
  engine::Waiter waiter(bootstrap_->idle_hook(), crowding_);
  // All begin at once, or none.
  const bool prepared = all_agree(exchange == nullptr || exchange->prepare(seconds_to_connect, waiter));
  const Clock::time_point start = Clock::now(); // waiting for ranks that come late is no price of the probe
  tune::Probe::Observation mine;
  if (prepared && exchange)
    mine = exchange->run(probe_->sending_seconds(), probe_->patience(), waiter, crowded);
  else if (prepared) // leaves the cores to those who measure
    for (; seconds_since(start) < probe_->sending_seconds(); waiter.step(true)) {
    }
  if (!prepared) mine.failed = 1;
  mine.elapsed = seconds_since(start);
  auto all = gather(*bootstrap_, mine);
  std::vector<tune::Probe::Observation> by_node(first.size());
  for (std::size_t n = 0; n < by_node.size(); ++n) {
    if (all) by_node[n] = (*all)[static_cast<std::size_t>(first[n])];
    if (!all) by_node[n].failed = 1;
  }
  probe_->settle(by_node);
  const bool exchanged = !probe_->failed();
  if (probe_->finished()) conclude_probe();
  return exchanged;
}

void Context::conclude_probe() {
  const std::unique_ptr<tune::Probe> probe = std::move(probe_);
  log_probe(*probe);
  cannot_probe_ = probe->failed();
  if (cannot_probe_) return;
  const topo::Racks& racks = probe->racks();
  const topo::Hierarchy& plain = situation_.plain ? situation_.plain->hierarchy : situation_.job.hierarchy;
  if (may_adopt_links())
    adopt_links(topo::with_racks(plain, facts_, racks.rack_of), probe->latency(), racks.node_rate, racks.uplink);
  if (rank_ != 0) return;
  auto profile = profile_of(*probe);
  links_text_ = profile ? to_text(*profile) : std::string();
  // Communicators that share the nodes with others may have measured at the same time as these.
  const bool has_all_ranks = process_.activity().world_ranks.load() == ranks_;
  if (profile && has_all_ranks) process_.known_links().keep(std::move(*profile), options_.profile);
}

Status Context::measure_links() {
  if (watch_.hopeless()) return Error{ErrorKind::peer, watch_.trouble()};
  if (situation_.job.nodes > most_probed_nodes)
    return Error{ErrorKind::unsupported,
                 fmt::format("{} nodes are more than {}", situation_.job.nodes, most_probed_nodes)};
  probe_ = std::make_unique<tune::Probe>(situation_.job.nodes, 1);
  while (probe_)
    if (!probe_links()) return Error{ErrorKind::peer, "the nodes could not exchange data"};
  return ok();
}

/// Nothing where a host stands for several nodes, as containers do, or names say nothing.
std::optional<tune::Profile> Context::profile_of(const tune::Probe& probe) const {
  const std::vector<std::int32_t> first = first_ranks();
  tune::Profile profile;
  for (const std::int32_t rank : first)
    profile.hosts.push_back(hosts_[static_cast<std::size_t>(rank)]);
  const std::vector<std::string> host_of_node = profile.hosts;
  std::sort(profile.hosts.begin(), profile.hosts.end());
  if (std::adjacent_find(profile.hosts.begin(), profile.hosts.end()) != profile.hosts.end()) return std::nullopt;
  const topo::Racks& racks = probe.racks();
  profile.measured = std::time(nullptr);
  profile.transport = link_names_.back();
  profile.latency = rounded_measurement(probe.latency());
  profile.bandwidth = rounded_measurement(racks.node_rate);
  if (racks.racks > 1) {
    tune::HostLevel level{"rack", {}};
    for (std::int32_t rack = 0; rack < racks.racks; ++rack) {
      tune::HostGroup group;
      group.name = fmt::format("r{}", rack);
      for (std::size_t node = 0; node < host_of_node.size(); ++node)
        if (racks.rack_of[node] == rack) group.hosts.push_back(host_of_node[node]);
      std::sort(group.hosts.begin(), group.hosts.end());
      group.uplink = rounded_measurement(racks.uplink);
      level.groups.push_back(std::move(group));
    }
    profile.levels.push_back(std::move(level));
  }
  for (const topo::SlowNode& slow : racks.slow)
    profile.slow.push_back({host_of_node[static_cast<std::size_t>(slow.node)], rounded_measurement(slow.factor)});
  std::sort(profile.slow.begin(), profile.slow.end(),
            [](const tune::SlowHost& a, const tune::SlowHost& b) { return a.host < b.host; });
  if (!tune::check(profile)) return std::nullopt;
  return profile;
}

/// What rank 0 knows of the links from before, for all ranks.
Status Context::share_profile() {
  if (situation_.job.nodes < 2 || options_.reproducible || !options_.levels.empty() || !options_.algorithm.empty())
    return ok();
  // By prediction alone every run does the same, whatever others have measured since.
  if (options_.tune == Tune::off || (options_.tune == Tune::model && options_.profile == "cache")) return ok();
  KnownLinks::Found found;
  if (rank_ == 0) {
    std::vector<std::string> hosts = hosts_;
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    if (hosts.size() == static_cast<std::size_t>(situation_.job.nodes))
      found = process_.known_links().find(options_.profile, hosts, link_names_.back());
    if (!found.complaint.empty()) warnings_.push_back(found.complaint);
    notes_.insert(notes_.end(), found.notes.begin(), found.notes.end());
  }
  const auto text = text_of_first(*bootstrap_, found.text);
  if (!text) return text.error();
  if (!text->empty()) adopt_profile(*text);
  return ok();
}

void Context::adopt_profile(const std::string& text) {
  const auto profile = tune::profile_from(text, "profile");
  if (!profile) {
    notes_.push_back(profile.error().message);
    return;
  }
  const auto hierarchy = tune::hierarchy_with(*profile, facts_, hosts_);
  if (!hierarchy) {
    notes_.push_back(hierarchy.error().message);
    return;
  }
  double uplink = 0;
  for (const tune::HostLevel& level : profile->levels)
    for (const tune::HostGroup& group : level.groups)
      if (group.uplink > 0 && (uplink == 0 || group.uplink < uplink)) uplink = group.uplink;
  if (rank_ == 0) links_text_ = text;
  adopt_links(*hierarchy, profile->latency, profile->bandwidth, uplink);
  probe_.reset(); // until a call takes another time than it did
}

/// Takes over what is known of the links. Where that gives other levels, every size is decided anew.
void Context::adopt_links(const topo::Hierarchy& hierarchy, double latency, double bandwidth, double uplink) {
  tune::LinkParameters& network = situation_.parameters.links[static_cast<std::size_t>(topo::LinkKind::network)];
  if (bandwidth > 0) network.per_byte = 1 / bandwidth;
  if (latency > 0) network.latency = latency;
  tune::LinkParameters& shared = situation_.parameters.links[static_cast<std::size_t>(topo::LinkKind::uplink)];
  shared = network;
  if (uplink > 0) shared.per_byte = 1 / uplink;

  const auto same_groups = [](const topo::Level& one, const topo::Level& other) {
    return one.group_of == other.group_of && one.link == other.link;
  };
  const std::vector<topo::Level>& before = situation_.job.hierarchy.levels;
  if (std::equal(before.begin(), before.end(), hierarchy.levels.begin(), hierarchy.levels.end(), same_groups)) return;
  const tune::JobShape plain = situation_.plain ? *situation_.plain : situation_.job;
  ++racks_adopted_;
  situation_.job = tune::shape_of(hierarchy, facts_, usable_cores_);
  situation_.plain.reset();
  if (hierarchy.levels.size() > plain.hierarchy.levels.size()) {
    situation_.plain = plain;
    tune::note_racks(*situation_.plain, situation_.job);
  }
  decide_anew();
}

void Context::decide_anew() {
  for (Decision& decision : decisions_)
    if (decision.way.path != Path::lost) retire(decision);
}

/// Forgets what was decided, but not what was counted.
void Context::retire(Decision& decision) {
  const auto keep = [&](Way&& way) {
    const auto same = std::find_if(decision.retired.begin(), decision.retired.end(), [&](const Way& known) {
      return known.path == way.path && known.plan == way.plan && known.name == way.name;
    });
    if (same != decision.retired.end())
      same->tally += way.tally;
    else
      decision.retired.push_back(std::move(way));
  };
  if (decision.way.path != Path::undecided) keep(std::exchange(decision.way, Way{}));
  for (Way& way : decision.others)
    keep(std::move(way));
  decision.others.clear();
  decision.review.reset();
  if (!decision.trial) return;
  for (Way& way : decision.trial->ways)
    keep(std::move(way));
  decision.trial.reset();
}

void Context::log_probe(const tune::Probe& probe) const {
  if (!options_.log_choice || rank_ != 0) return;
  if (probe.failed()) {
    log_line(fmt::format("{} nodes: the links could not be measured", situation_.job.nodes));
    return;
  }
  const std::vector<std::int32_t> first = first_ranks();
  const auto host = [&](std::size_t node) { return hosts_[static_cast<std::size_t>(first[node])]; };
  const topo::Racks& racks = probe.racks();
  std::string line = fmt::format("{} nodes measured in {} rounds, {}: {:.4g} MB/s and {} from node to node, {:.0f}% of "
                                 "the rate beside others",
                                 situation_.job.nodes, probe.rounds(), format_duration(probe.spent()),
                                 racks.node_rate / 1e6, format_duration(probe.latency()), 100 * racks.inside);
  for (const topo::SlowNode& slow : racks.slow)
    line += fmt::format("; {} has {:.0f}% of that", host(static_cast<std::size_t>(slow.node)), 100 * slow.factor);
  for (std::int32_t rack = 0; racks.racks > 1 && rack < racks.racks; ++rack) {
    if (rack == 0)
      line += fmt::format(" in a rack, {:.0f}% across; uplinks of {:.4g} MB/s", 100 * racks.across, racks.uplink / 1e6);
    line += fmt::format("{} rack {}:", rack == 0 ? ";" : ",", rack);
    for (std::size_t node = 0; node < racks.rack_of.size(); ++node)
      if (racks.rack_of[node] == rack) line += " " + host(node);
  }
  log_line(line);
}

} // namespace strata::comm
