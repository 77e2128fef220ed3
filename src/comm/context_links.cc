// SPDX-License-Identifier: BSD-3-Clause
// What is known of the links between nodes, by this job's probe or from before: kept for others, taken over, and
// planned with anew when it shows what was not known.
#include "comm/context.h"

#include "base/log.h"
#include "tune/probed_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace strata::comm {
namespace {

/// A job whose network is mended, or shared with others, sees a few. One that sees more measures what is not there.
constexpr std::uint32_t most_level_changes = 8;

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

void Context::conclude_links() {
  log_probe(*probe_);
  cannot_probe_ = probe_->failed();
  if (cannot_probe_) return probe_.reset();
  const topo::Racks& racks = probe_->racks();
  profile_doubts_.reset();
  if (may_adopt_links()) {
    adopt_links(topo::with_racks(without_racks().hierarchy, facts_, racks.rack_of),
                {probe_->latency(), racks.node_rate, probe_->rate_of_rank(), probe_->latency_across(), racks.uplink});
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
  if (text->empty()) return ok();
  // Only rank 0 knows where it is from, and whether there is anything left to measure depends on that.
  const auto origin = gather(*bootstrap_, found.known.origin);
  if (!origin) return origin.error();
  found.known.text = *text;
  found.known.origin = origin->front();
  adopt_profile(found.known);
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
  NetworkNumbers numbers{profile->latency, profile->bandwidth, profile->bandwidth_of_rank, 0, 0};
  for (const tune::HostLevel& level : profile->levels)
    for (const tune::HostGroup& group : level.groups) {
      if (group.uplink > 0 && (numbers.uplink == 0 || group.uplink < numbers.uplink)) numbers.uplink = group.uplink;
      numbers.uplink_latency = std::max(numbers.uplink_latency, group.latency);
    }
  if (rank_ == 0) links_known_ = known;
  adopt_links(*hierarchy, numbers);
  tune::take_rates(situation_.parameters, profile->cache, profile->memory, static_cast<double>(profile->cache_share));
  tune::take_messages(situation_.parameters, profile->messages);
  const bool has_as_many_senders = situation_.job.ranks_per_node >= profile->gap_senders;
  tune::take_gap(situation_.parameters, has_as_many_senders ? profile->gap : 0);
  // One that a job left that ended before it had measured messages serves until this one has measured all anew.
  if (known.origin != Origin::earlier_job || tune::tells_of_messages(*profile))
    probe_.reset(); // until a call takes longer than it did, or than this profile lets expect
  profile_doubts_.reset();
  if (situation_.job.nodes > 1 && is_all_in_the_model(*profile)) profile_doubts_ = 0;
}

/// Takes over what is known of the links. Where that gives other levels, every size is decided anew: not for ever,
/// because plans for each of them stay as long as the communicator.
void Context::adopt_links(const topo::Hierarchy& hierarchy, const NetworkNumbers& numbers) {
  ++adoptions_;
  tune::LinkParameters& network = situation_.parameters.links[static_cast<std::size_t>(topo::LinkKind::network)];
  if (numbers.bandwidth > 0) {
    network.per_byte = 1 / numbers.bandwidth;
    network.per_byte_of_rank = numbers.bandwidth_of_rank > 0 ? 1 / numbers.bandwidth_of_rank : 0;
  }
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
  if (level_changes_ == most_level_changes) return;
  if (++level_changes_ == most_level_changes && options_.log_choice && rank_ == 0)
    log_line(fmt::format("{} ranks on {} nodes: racks are others for the {}th time, and stay what they are now", ranks_,
                         nodes(), level_changes_));
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
  decision.trials = 0;
  if (!decision.trial) return;
  for (Way& way : decision.trial->ways)
    keep(std::move(way));
  decision.trial.reset();
}

} // namespace strata::comm
