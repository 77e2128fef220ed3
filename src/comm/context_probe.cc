// SPDX-License-Identifier: BSD-3-Clause
// Measuring the links between nodes, a round at a time, at the beginning of calls that have paid for it.
//
// All ranks keep the same account (the times of calls are those that a trial has agreed on), so all know without a
// message that a round is due. In a round the first rank of each node, or the first few, exchange data with those of
// another node, both ways, all nodes at once; the other ranks wait.
#include "comm/context.h"

#include "base/elapsed.h"
#include "base/log.h"
#include "comm/link_flow.h"
#include "comm/memory_rates.h"
#include "tune/probed_links.h"

#include <fmt/format.h>

#include <algorithm>
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
  /// `is_lower`: this rank's node is the lower one of the two; ranks may be numbered the other way round.
  Exchange(transport::Links& links, const tune::Probe& probe, bool is_lower, std::int32_t ranks, std::int32_t peer,
           std::uint32_t first_plan, std::size_t message_bytes) {
    for (const bool ascending : {true, false}) {
      if (probe.part() == tune::Probe::Part::links_one_way && ascending != probe.ascending()) continue;
      const auto side = is_lower == ascending ? LinkFlow::Side::sender : LinkFlow::Side::receiver;
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

} // namespace

void Context::prepare_probe() {
  if (options_.probe == 0 || !may_adopt_links() || cannot_probe_) return;
  if (situation_.job.nodes < 2 || situation_.job.nodes > most_probed_nodes) return;
  probe_ = new_probe(static_cast<double>(options_.probe) / 100);
}

std::unique_ptr<tune::Probe> Context::new_probe(double share) const {
  const std::vector<std::vector<std::int32_t>> ranks = ranks_of_nodes();
  const auto smallest = std::min_element(ranks.begin(), ranks.end(),
                                         [](const auto& one, const auto& other) { return one.size() < other.size(); });
  return std::make_unique<tune::Probe>(situation_.job.nodes, share, topo::racks_by_name(switch_of_node()),
                                       static_cast<std::int32_t>(smallest->size()));
}

/// By node, its ranks.
std::vector<std::vector<std::int32_t>> Context::ranks_of_nodes() const {
  std::vector<std::vector<std::int32_t>> ranks(static_cast<std::size_t>(situation_.job.nodes));
  for (std::size_t rank = 0; rank < facts_.size(); ++rank)
    ranks[static_cast<std::size_t>(facts_[rank].memory_group)].push_back(static_cast<std::int32_t>(rank));
  return ranks;
}

/// The first rank of each node.
std::vector<std::int32_t> Context::first_ranks() const {
  std::vector<std::int32_t> first;
  for (const std::vector<std::int32_t>& ranks : ranks_of_nodes())
    first.push_back(ranks.front());
  return first;
}

/// Whom this rank exchanges data with in the next round; -1: nobody.
std::int32_t Context::probed_peer(const std::vector<std::vector<std::int32_t>>& ranks) const {
  const auto node = static_cast<std::size_t>(facts_[static_cast<std::size_t>(rank_)].memory_group);
  const std::int32_t partner = probe_->partners()[node];
  const auto place =
      static_cast<std::size_t>(std::find(ranks[node].begin(), ranks[node].end(), rank_) - ranks[node].begin());
  if (partner < 0 || place >= static_cast<std::size_t>(probe_->senders())) return -1;
  return ranks[static_cast<std::size_t>(partner)][place];
}

/// What the ranks saw, by node.
std::vector<tune::Probe::Observation>
Context::observations_of_nodes(const std::vector<tune::Probe::Observation>& by_rank,
                               const std::vector<std::vector<std::int32_t>>& ranks) const {
  std::vector<tune::Probe::Observation> by_node;
  for (const std::vector<std::int32_t>& of_node : ranks) {
    tune::Probe::Observation sum = by_rank[static_cast<std::size_t>(of_node.front())];
    for (std::size_t place = 1; place < static_cast<std::size_t>(probe_->senders()); ++place) {
      const tune::Probe::Observation& seen = by_rank[static_cast<std::size_t>(of_node[place])];
      sum.received += seen.received;
      sum.elapsed = std::max(sum.elapsed, seen.elapsed);
      sum.failed = std::max(sum.failed, seen.failed);
    }
    by_node.push_back(sum);
  }
  return by_node;
}

/// One round. False when the ranks could not exchange: then there is no probe any more.
bool Context::run_probe() {
  bool exchanged = false;
  const auto steps = [&] {
    using Part = tune::Probe::Part;
    if (probe_->measures_links())
      exchanged = probe_links();
    else if (probe_->part() == Part::messages)
      exchanged = probe_messages();
    else
      exchanged = probe_->part() == Part::messages_of_all ? probe_messages_of_all() : probe_memory();
  };
  Status ran = bootstrap_->run(steps);
  if (ran) return exchanged;
  leave_all_to_native(std::move(ran).error());
  return false;
}

bool Context::probe_links() {
  const std::vector<std::vector<std::int32_t>> ranks = ranks_of_nodes();
  const std::int32_t peer = probed_peer(ranks);
  const std::uint32_t plan = std::exchange(next_plan_, next_plan_ + 2);
  const std::size_t wire = situation_.wire_bytes != 0 ? situation_.wire_bytes : most_message;
  const std::size_t message = std::clamp(wire, least_message, most_message);
  const bool crowded = crowding_ == engine::Crowding::crowded;
  std::unique_ptr<Exchange> exchange;
  if (peer >= 0) {
    const auto node_of = [&](std::int32_t rank) { return facts_[static_cast<std::size_t>(rank)].memory_group; };
    exchange = std::make_unique<Exchange>(*links_.back(), *probe_, node_of(rank_) < node_of(peer), ranks_, peer, plan,
                                          message);
  }
  engine::Waiter waiter(bootstrap_->idle_hook(), crowding_, contention_between_nodes());
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
    log_line(fmt::format("rank {} cannot measure the link to rank {}: {}", rank_, peer, exchange->trouble()));
  mine.elapsed = seconds_since(start);
  const auto all = gather(*bootstrap_, mine);
  tune::Probe::Observation nothing;
  nothing.failed = 1;
  probe_->settle(all ? observations_of_nodes(*all, ranks)
                     : std::vector<tune::Probe::Observation>(ranks.size(), nothing));
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

Status Context::measure_links() {
  if (watch_.hopeless()) return Error{ErrorKind::peer, watch_.trouble()};
  if (situation_.job.nodes > most_probed_nodes)
    return Error{ErrorKind::unsupported,
                 fmt::format("{} nodes are more than {}", situation_.job.nodes, most_probed_nodes)};
  probe_ = new_probe(1);
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

void Context::log_probe(const tune::Probe& probe) const {
  if (!options_.log_choice || rank_ != 0) return;
  if (probe.failed()) {
    log_line(fmt::format("{} nodes: the links could not be measured", situation_.job.nodes));
    return;
  }
  log_line(tune::sentence_of(probe, {host_of_node(), switch_of_node()}));
}

} // namespace strata::comm
