// SPDX-License-Identifier: BSD-3-Clause
// Measuring the links between nodes, a round at a time, at the beginning of calls that have paid for it; and planning
// anew when that shows what was not known.
//
// All ranks keep the same account (the times of calls are those that a trial has agreed on), so all know without a
// message that a round is due. In a round the first rank of each node exchanges data with that of another node, both
// ways, all nodes at once; the other ranks wait.
#include "comm/context.h"

#include "base/elapsed.h"
#include "base/log.h"
#include "comm/link_flow.h"
#include "comm/memory_rates.h"
#include "tune/probed_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace strata::comm {
namespace {

using Clock = std::chrono::steady_clock;

/// Every rank keeps a table of pairs of nodes: 16 MiB for so many.
constexpr std::int32_t most_probed_nodes = 1024;
constexpr std::size_t least_message = std::size_t{4} << 10, most_message = std::size_t{256} << 10;
constexpr double seconds_to_connect = 5;

/// The directions that a round measures between this rank and another, one channel each, so that neither holds the
/// other up.
class Exchange {
public:
  Exchange(transport::Links& links, const tune::Probe& probe, std::int32_t self, std::int32_t ranks, std::int32_t peer,
           std::uint32_t first_plan, std::size_t message_bytes) {
    for (const bool ascending : {true, false}) {
      if (probe.part() == tune::Probe::Part::links_one_way && ascending != probe.ascending()) continue;
      const auto side = (self < peer) == ascending ? LinkFlow::Side::sender : LinkFlow::Side::receiver;
      auto flow = LinkFlow::prepare(links, ranks, peer, side, first_plan + (ascending ? 0 : 1), message_bytes);
      if (!flow) {
        trouble_ = flow.error().message;
        return;
      }
      flows_.push_back(std::move(*flow));
    }
  }
  /// Whether all of them can begin; waits for that. No connection is to be made in the time that counts.
  bool prepare(double patience, engine::Waiter waiter) {
    const Clock::time_point start = Clock::now();
    for (LinkFlow& flow : flows_)
      while (!flow.connected())
        if (has_trouble(flow, start, patience))
          return false;
        else
          waiter.step(true);
    return trouble_.empty();
  }
  /// While the peer is not as far: it may need answers.
  void keep_connecting() {
    for (LinkFlow& flow : flows_)
      (void)flow.connected();
  }
  /// Why it could not be prepared, or did not end.
  const std::string& trouble() const { return trouble_; }

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
        if (has_trouble(flow, start, patience)) seen.failed = 1;
      }
      if (moved)
        waiter.reset();
      else
        waiter.step(crowded);
    }
    for (const LinkFlow& flow : flows_) { // a sender knows of no rate, a receiver of no latency
      seen.received = std::max(seen.received, flow.rate());
      seen.latency = std::max(seen.latency, flow.latency());
    }
    return seen;
  }

private:
  bool has_trouble(const LinkFlow& flow, Clock::time_point start, double patience) {
    const bool is_late = seconds_since(start) > patience;
    if (const char* why = flow.failure(); why != nullptr)
      trouble_ = why;
    else if (is_late)
      trouble_ = fmt::format("no answer within {} s", patience);
    return is_late || flow.failure() != nullptr;
  }

  std::vector<LinkFlow> flows_;
  std::string trouble_;
};

/// Whether the cost model takes over all that a profile says of links, so that times can be held against it.
bool is_all_in_the_model(const tune::Profile& profile) {
  const auto has_rate_of_its_own = [](const tune::HostGroup& group) { return group.bandwidth > 0; };
  const auto is_in_the_model = [&](const tune::HostLevel& level) {
    return std::none_of(level.groups.begin(), level.groups.end(), has_rate_of_its_own);
  };
  return profile.slow.empty() && profile.asymmetric.empty() && profile.levels.size() <= 1 &&
         std::all_of(profile.levels.begin(), profile.levels.end(), is_in_the_model);
}

/// Likewise of what a probe has found.
bool is_all_in_the_model(const topo::Outliers& outliers) {
  return outliers.cards.empty() && outliers.nodes.empty() && outliers.links.empty();
}

} // namespace

/// Whether what is measured may change what runs.
bool Context::may_adopt_links() const {
  return (options_.tune == Tune::online || (options_.tune == Tune::file && !follows_table())) &&
         !options_.reproducible && options_.levels.empty() && options_.algorithm.empty();
}

void Context::prepare_probe() {
  if (options_.probe == 0 || !may_adopt_links() || cannot_probe_) return;
  if (situation_.job.nodes < 2 || situation_.job.nodes > most_probed_nodes) return;
  probe_ = std::make_unique<tune::Probe>(situation_.job.nodes, static_cast<double>(options_.probe) / 100,
                                         topo::racks_by_name(switch_of_node()));
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

/// One round. False when the ranks could not exchange: then there is no probe any more.
bool Context::run_probe() {
  bool exchanged = false;
  const auto steps = [&] {
    if (probe_->measures_links())
      exchanged = probe_links();
    else
      exchanged = probe_->part() == tune::Probe::Part::messages ? probe_messages() : probe_memory();
  };
  Status ran = bootstrap_->run(steps);
  if (ran) return exchanged;
  leave_all_to_native(std::move(ran).error());
  return false;
}

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
    exchange = std::make_unique<Exchange>(*links_.back(), *probe_, rank_, ranks_,
                                          first[static_cast<std::size_t>(partner)], plan, message);
  engine::Waiter waiter(bootstrap_->idle_hook(), crowding_);
  // All begin at once, or none.
  bool prepared = all_agree(true);
  const Clock::time_point start = Clock::now(); // waiting for ranks that come late is no price of the probe
  if (std::exchange(prepared, false)) {
    const auto connect = [&] { prepared = exchange == nullptr || exchange->prepare(seconds_to_connect, waiter); };
    const auto keep_connecting = [](void* one) {
      if (one != nullptr) static_cast<Exchange*>(one)->keep_connecting();
    };
    bootstrap_->run_and_wait(connect, {keep_connecting, exchange.get()});
    prepared = all_agree(prepared);
  }
  const Clock::time_point sending = Clock::now();
  tune::Probe::Observation mine;
  if (prepared && exchange)
    mine = exchange->run(probe_->sending_seconds(), probe_->patience(), waiter, crowded);
  else if (prepared) // leaves the cores to those who measure
    for (; seconds_since(sending) < probe_->sending_seconds(); waiter.step(true)) {
    }
  if (!prepared) mine.failed = 1;
  if (exchange && !exchange->trouble().empty() && options_.log_choice)
    log_line(fmt::format("rank {} cannot measure the link to rank {}: {}", rank_,
                         first[static_cast<std::size_t>(partner)], exchange->trouble()));
  mine.elapsed = seconds_since(start);
  auto all = gather(*bootstrap_, mine);
  std::vector<tune::Probe::Observation> by_node(first.size());
  for (std::size_t n = 0; n < by_node.size(); ++n) {
    if (all) by_node[n] = (*all)[static_cast<std::size_t>(first[n])];
    if (!all) by_node[n].failed = 1;
  }
  probe_->settle(by_node);
  const bool exchanged = !probe_->failed();
  if (!probe_->measures_links()) conclude_links();
  return exchanged;
}

/// What cores copy and reduce: one of each node, and all at once.
bool Context::probe_memory() {
  const auto node = static_cast<std::size_t>(facts_[static_cast<std::size_t>(rank_)].memory_group);
  const bool alone = probe_->part() == tune::Probe::Part::memory_alone;
  std::vector<std::int32_t> node_of_rank;
  for (const topo::RankFacts& fact : facts_)
    node_of_rank.push_back(fact.memory_group);
  const auto busy =
      alone ? 1 : std::count(node_of_rank.begin(), node_of_rank.end(), node_of_rank[static_cast<std::size_t>(rank_)]);
  tune::Probe::MemorySample mine;
  if (!alone || first_ranks()[node] == rank_)
    mine = measure_memory(process_.kernels(), process_.facts().last_level_cache / static_cast<std::uint64_t>(busy));
  const auto all = gather(*bootstrap_, mine);
  if (!all) {
    probe_.reset();
    return false;
  }
  probe_->settle_memory(*all, node_of_rank);
  if (probe_->part() != tune::Probe::Part::messages) return true;
  if (may_adopt_links())
    tune::take_rates(situation_.parameters, probe_->cache(), probe_->memory(), probe_->cache_share());
  if (options_.log_choice && rank_ == 0) log_line(tune::sentence_of(probe_->cache(), probe_->memory()));
  keep_links();
  return true;
}

void Context::conclude_links() {
  log_probe(*probe_);
  cannot_probe_ = probe_->failed();
  if (cannot_probe_) return probe_.reset();
  const topo::Racks& racks = probe_->racks();
  profile_doubts_.reset();
  if (may_adopt_links()) {
    adopt_links(topo::with_racks(without_racks().hierarchy, facts_, racks.rack_of),
                {probe_->latency(), racks.node_rate, probe_->latency_across(), racks.uplink});
    // A rank may have been slow just then: this, too, is held against calls, but what is measured after that is not.
    if (!has_rejected_profile_ && is_all_in_the_model(probe_->outliers())) profile_doubts_ = 0;
  }
  keep_links();
}

/// On rank 0, what the probe has found so far.
void Context::keep_links() {
  if (rank_ != 0) return;
  tune::Profile profile =
      tune::profile_of(*probe_, {host_of_node(), switch_of_node()}, link_names_.back(), std::time(nullptr));
  const bool can_be_told = static_cast<bool>(tune::check(profile)); // names say nothing where a host has several nodes
  links_known_ = can_be_told ? KnownProfile{to_text(profile), Origin::this_job, {}} : KnownProfile{};
  matrix_ = probe_->matrix();
  // Communicators that share the nodes with others may have measured at the same time as these.
  const bool has_all_ranks = process_.activity().world_ranks.load() == ranks_;
  // A later job of one node would not look for it.
  if (can_be_told && has_all_ranks && situation_.job.nodes > 1)
    process_.known_links().keep(std::move(profile), options_.profile);
}

Status Context::measure_links() {
  if (watch_.hopeless()) return Error{ErrorKind::peer, watch_.trouble()};
  if (situation_.job.nodes > most_probed_nodes)
    return Error{ErrorKind::unsupported,
                 fmt::format("{} nodes are more than {}", situation_.job.nodes, most_probed_nodes)};
  probe_ = std::make_unique<tune::Probe>(situation_.job.nodes, 1, topo::racks_by_name(switch_of_node()));
  while (probe_)
    if (!run_probe()) return Error{ErrorKind::peer, "the nodes could not exchange data"};
  return ok();
}

/// By node; its first rank's.
std::vector<std::string> Context::host_of_node() const {
  std::vector<std::string> hosts;
  for (const std::int32_t rank : first_ranks())
    hosts.push_back(hosts_[static_cast<std::size_t>(rank)]);
  return hosts;
}

/// By node, the switch that its first rank names; empty: it names none.
std::vector<std::string> Context::switch_of_node() const {
  std::vector<std::string> switches;
  for (const std::int32_t rank : first_ranks())
    switches.push_back(switches_[static_cast<std::size_t>(rank)]);
  return switches;
}

/// What rank 0 knows of the links from before, for all ranks.
Status Context::share_profile() {
  // In one node nothing was measured by a job, but strata-probe may have been asked to.
  if ((situation_.job.nodes < 2 && options_.profile == "cache") || options_.reproducible || !options_.levels.empty() ||
      !options_.algorithm.empty())
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
    else if (options_.profile != "cache" && options_.profile != "none")
      found.complaint = fmt::format("STRATA_PROFILE={} is not used: it tells of hosts, and here ranks of one host that "
                                    "share no memory are nodes of their own",
                                    options_.profile);
    if (!found.complaint.empty()) warnings_.push_back(found.complaint);
    notes_.insert(notes_.end(), found.notes.begin(), found.notes.end());
  }
  const auto text = text_of_first(*bootstrap_, found.known.text);
  if (!text) return text.error();
  found.known.text = *text;
  if (!text->empty()) adopt_profile(found.known);
  return ok();
}

void Context::adopt_profile(const KnownProfile& known) {
  const auto profile = tune::profile_from(known.text, "profile");
  if (!profile) {
    notes_.push_back(profile.error().message);
    return;
  }
  const auto hierarchy = tune::hierarchy_with(*profile, facts_, hosts_);
  if (!hierarchy) {
    notes_.push_back(hierarchy.error().message);
    return;
  }
  NetworkNumbers numbers{profile->latency, profile->bandwidth, 0, 0};
  for (const tune::HostLevel& level : profile->levels)
    for (const tune::HostGroup& group : level.groups) {
      if (group.uplink > 0 && (numbers.uplink == 0 || group.uplink < numbers.uplink)) numbers.uplink = group.uplink;
      numbers.uplink_latency = std::max(numbers.uplink_latency, group.latency);
    }
  if (rank_ == 0) links_known_ = known;
  adopt_links(*hierarchy, numbers);
  tune::take_rates(situation_.parameters, profile->cache, profile->memory, static_cast<double>(profile->cache_share));
  tune::take_messages(situation_.parameters, profile->messages);
  probe_.reset(); // until a call takes longer than it did, or than this profile lets expect
  profile_doubts_.reset();
  if (situation_.job.nodes > 1 && is_all_in_the_model(*profile)) profile_doubts_ = 0;
}

/// Takes over what is known of the links. Where that gives other levels, every size is decided anew.
void Context::adopt_links(const topo::Hierarchy& hierarchy, const NetworkNumbers& numbers) {
  ++adoptions_;
  tune::LinkParameters& network = situation_.parameters.links[static_cast<std::size_t>(topo::LinkKind::network)];
  if (numbers.bandwidth > 0) network.per_byte = 1 / numbers.bandwidth;
  if (numbers.latency > 0) network.latency = numbers.latency;
  tune::LinkParameters& shared = situation_.parameters.links[static_cast<std::size_t>(topo::LinkKind::uplink)];
  shared = network;
  if (numbers.uplink > 0) shared.per_byte = 1 / numbers.uplink;
  shared.latency = std::max(shared.latency, numbers.uplink_latency);

  const auto same_link = [](const topo::Level& one, const topo::Level& other) { return one.link == other.link; };
  const std::vector<topo::Level>& before = situation_.job.hierarchy.levels;
  if (topo::same_groups(situation_.job.hierarchy, hierarchy) &&
      std::equal(before.begin(), before.end(), hierarchy.levels.begin(), same_link))
    return;
  tune::JobShape plain = without_racks();
  situation_.job = tune::shape_of(hierarchy, facts_, usable_cores_);
  plain_is_of_hosts_ = false;
  if (hierarchy.levels.size() > plain.hierarchy.levels.size()) {
    tune::note_racks(plain, situation_.job);
    situation_.plain = std::move(plain);
  } else {
    situation_.plain.reset();
  }
  decide_anew();
}

void Context::decide_anew() {
  for (Decision& decision : decisions_)
    if (decision.way.path != Path::lost) retire(decision);
}

/// Forgets what was decided, but not what was counted, nor how often it was reviewed: the next look comes no sooner.
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
  decision.has_settled = false;
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
  log_line(tune::sentence_of(probe, {host_of_node(), switch_of_node()}));
}

} // namespace strata::comm
