// SPDX-License-Identifier: BSD-3-Clause
// Measuring the links between nodes, a round at a time, at the beginning of calls that have paid for it; and planning
// anew when that shows what was not known.
//
// All ranks keep the same account (the times of calls are those that a trial has agreed on), so all know without a
// message that a round is due. In a round the first rank of each node exchanges data with that of another node, both
// ways, all nodes at once; the other ranks wait.
#include "comm/context.h"

#include "base/log.h"
#include "base/text.h"
#include "comm/link_flow.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::comm {
namespace {

using Clock = std::chrono::steady_clock;

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
  bool prepared() const { return flows_.size() == 2; }

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

void Context::prepare_probe() {
  const bool wanted = options_.probe > 0 && options_.tune == Tune::online && !options_.reproducible &&
                      options_.levels.empty() && options_.algorithm.empty();
  if (!wanted || situation_.job.nodes < 2) return;
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

void Context::probe_links() {
  const std::vector<std::int32_t> first = first_ranks();
  const auto node = static_cast<std::size_t>(facts_[static_cast<std::size_t>(rank_)].memory_group);
  const std::int32_t partner = probe_->partners()[node];
  const std::uint32_t plan = std::exchange(next_plan_, next_plan_ + 2);
  const std::size_t message = situation_.wire_bytes != 0 ? situation_.wire_bytes : std::size_t{256} << 10;
  const bool crowded = crowding_ == engine::Crowding::crowded;
  const Clock::time_point start = Clock::now();
  std::unique_ptr<Exchange> exchange;
  if (first[node] == rank_ && partner >= 0)
    exchange = std::make_unique<Exchange>(*links_.back(), rank_, ranks_, first[static_cast<std::size_t>(partner)], plan,
                                          message);
  // All begin at once, or none.
  const bool prepared = all_agree(exchange == nullptr || exchange->prepared());
  engine::Waiter waiter(bootstrap_->idle_hook(), crowding_);
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
  if (probe_->finished()) adopt_probe();
}

/// Takes over what was measured; with racks, every size is decided anew.
void Context::adopt_probe() {
  const topo::Racks& racks = probe_->racks();
  log_probe(*probe_);
  const bool failed = probe_->failed();
  tune::LinkParameters& network = situation_.parameters.links[static_cast<std::size_t>(topo::LinkKind::network)];
  if (!failed && racks.node_rate > 0) network.per_byte = 1 / racks.node_rate;
  if (!failed && probe_->latency() > 0) network.latency = probe_->latency();
  if (!failed && racks.racks > 1) {
    tune::LinkParameters& uplink = situation_.parameters.links[static_cast<std::size_t>(topo::LinkKind::uplink)];
    uplink = network;
    uplink.per_byte = 1 / racks.uplink;
    topo::Hierarchy with_racks = topo::with_racks(situation_.job.hierarchy, facts_, racks.rack_of);
    situation_.plain = situation_.job;
    situation_.job = tune::shape_of(with_racks, facts_, usable_cores_);
    tune::note_racks(*situation_.plain, situation_.job);
    decide_anew();
  }
  probe_.reset();
}

/// Forgets what was decided, but not what was counted.
void Context::decide_anew() {
  for (Decision& decision : decisions_) {
    if (decision.way.path != Path::undecided) decision.retired.push_back(std::exchange(decision.way, Way{}));
    for (Way& way : decision.others)
      decision.retired.push_back(std::move(way));
    decision.others.clear();
    decision.review.reset();
    if (!decision.trial) continue;
    for (Way& way : decision.trial->ways)
      decision.retired.push_back(std::move(way));
    decision.trial.reset();
  }
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
  for (const std::int32_t slow : racks.slow)
    line += fmt::format("; {} is slow", host(static_cast<std::size_t>(slow)));
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
