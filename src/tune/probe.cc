// SPDX-License-Identifier: BSD-3-Clause
#include "tune/probe.h"

#include "base/median.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace strata::tune {
namespace {

/// Seconds that the pairs of the first round send; later rounds by the rate that was seen.
constexpr double first_sending = 0.05;
constexpr double least_sending = 0.02, most_sending = 0.5;
/// What a pair of ranks is to send in a round: much more than what switches and shapers let pass at first (256 KiB are
/// usual; on links of 100 Mbit/s, rounds of 0.1 s showed uplinks of 6 MB/s as 9 to 11, and often no racks).
constexpr double bytes_per_round = 6e6;
/// Before a round has been seen; of memory, what the sampler takes.
constexpr double first_price = 2 * first_sending, memory_price = 0.03;
/// A pass of many nodes is a sample already, and each new partner is a connection that stays.
constexpr std::int32_t most_passes = 6, most_passes_of_many = 2, many_nodes = 64;

/// How much more a node is to reach than one rank alone, or one rank fills its links.
constexpr double least_gain = 1.2;
/// Of one rank of each node, before more ranks are to show whether they move more.
constexpr std::int32_t least_rounds = 3;

/// A pair's mean relative rate that tells that its nodes are surely in one rack, or in two.
constexpr double surely_inside = 0.88, surely_across = 0.55;

/// With each message more that all ranks send at once, they take so many times longer than one of each, or they do not
/// hinder each other. (Where pairs differ, three messages go at the pace of the slowest of more pairs than one: 1.5
/// times as long where half of the pairs have four times the latency.)
constexpr double least_hindrance = 0.3;
constexpr double least_gap = 1e-9;

enum class Pairs : std::uint8_t { of_one_rack, across_racks };

/// The median over such pairs; 0: there are none.
double usual_latency(std::span<const topo::PairLatency> latencies, std::span<const std::int32_t> rack_of, Pairs pairs) {
  std::vector<double> seconds;
  for (const topo::PairLatency& pair : latencies) {
    const bool across = rack_of[static_cast<std::size_t>(pair.from)] != rack_of[static_cast<std::size_t>(pair.to)];
    if (across == (pairs == Pairs::across_racks)) seconds.push_back(pair.seconds);
  }
  return median(std::move(seconds));
}

std::int32_t rounds_of_a_pass(std::int32_t nodes) {
  const std::int32_t whole = nodes % 2 == 0 ? nodes - 1 : nodes;
  // Racks show in a sample of the pairs: their nodes are joined by the pairs that were seen.
  const auto sample = static_cast<std::int32_t>(8 * std::ceil(std::log2(std::max(2, nodes))));
  return std::min(whole, sample);
}

/// Of a pair that was seen once, noise could be taken for a fault; and of many nodes a fault shows in many pairs.
std::int32_t one_way_passes(std::int32_t nodes) { return nodes > many_nodes ? 1 : 2; }

/// The same on every machine, unlike std::shuffle.
std::vector<std::int32_t> order_of_pass(std::int32_t nodes, std::int32_t pass) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(nodes));
  std::iota(order.begin(), order.end(), 0);
  if (pass == 0) return order;
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(pass));
  for (std::size_t last = order.size() - 1; last > 0; --last)
    std::swap(order[last], order[random() % (last + 1)]);
  return order;
}

} // namespace

Probe::Probe(std::int32_t nodes, double share, std::vector<std::int32_t> guess, std::int32_t ranks_of_node)
    : nodes_(nodes), ranks_of_node_(ranks_of_node), share_(share), price_(first_price), sending_seconds_(first_sending),
      most_received_(static_cast<std::size_t>(std::max(nodes, 0)), 0), growth_(ranks_of_node), guess_(std::move(guess)),
      most_latency_(std::numeric_limits<double>::infinity()) {
  racks_.rack_of.assign(static_cast<std::size_t>(std::max(nodes, 0)), 0);
  if (nodes < 2) part_ = Part::memory_alone;
}

// The circle method: one place stays, the others turn by one each round; places face each other across the circle.
std::vector<std::int32_t> Probe::partners() const {
  const std::int32_t rounds = rounds_of_a_pass(nodes_);
  const std::int32_t meeting = meetings();
  const std::vector<std::int32_t> order = order_of_pass(nodes_, meeting / rounds);
  const std::int32_t places = nodes_ + nodes_ % 2; // the place without a node idles whoever faces it
  const std::int32_t turn = meeting % rounds;
  const auto node_at = [&](std::int32_t place) {
    const std::int32_t turned = place == 0 ? 0 : 1 + (place - 1 + turn) % (places - 1);
    return turned < nodes_ ? order[static_cast<std::size_t>(turned)] : -1;
  };
  std::vector<std::int32_t> partner(static_cast<std::size_t>(nodes_), -1);
  for (std::int32_t place = 0; place < places / 2; ++place) {
    const std::int32_t a = node_at(place), b = node_at(places - 1 - place);
    if (a < 0 || b < 0) continue;
    partner[static_cast<std::size_t>(a)] = b;
    partner[static_cast<std::size_t>(b)] = a;
  }
  return partner;
}

void Probe::settle(std::span<const Observation> by_node) {
  const std::vector<std::int32_t> partner = partners();
  const bool one_way = part_ == Part::links_one_way;
  double elapsed = 0;
  for (std::size_t node = 0; node < by_node.size(); ++node) {
    const Observation& seen = by_node[node];
    elapsed = std::max(elapsed, seen.elapsed);
    if (seen.failed != 0) failed_ = true;
    if (partner[node] < 0) continue;
    if (seen.received > 0)
      (one_way ? one_way_rates_ : rates_)
          .push_back({partner[node], static_cast<std::int32_t>(node), meetings(), seen.received});
    if (one_way) continue;
    most_received_[node] = std::max(most_received_[node], seen.received);
    if (seen.latency > 0) latencies_.push_back({static_cast<std::int32_t>(node), partner[node], seen.latency});
  }
  spent_ += elapsed;
  earned_ -= elapsed;
  ++(one_way ? one_way_round_ : round_);
  if (failed_) {
    part_ = Part::over;
    return;
  }
  const double sent = sending_seconds_;
  if (const double rate = median(most_received_); rate > 0)
    sending_seconds_ = std::clamp(bytes_per_round * growth_.enough() / rate, least_sending, most_sending);
  price_ = std::max(elapsed - sent, 0.0) + sending_seconds_;
  if (one_way && one_way_round_ == 2 * one_way_passes(nodes_) * rounds_of_a_pass(nodes_)) conclude_links();
  if (!one_way && round_ % rounds_of_a_pass(nodes_) == 0) conclude_pass();
}

/// Bytes per second that each node both sent and received, at best, from a round on; 0: it had no partner.
std::vector<double> Probe::best_since(std::int32_t round) const {
  const auto first =
      std::find_if(rates_.begin(), rates_.end(), [&](const topo::TransferRate& rate) { return rate.round >= round; });
  const topo::BestRates best(nodes_, std::span(first, rates_.end()));
  std::vector<double> of_node;
  for (std::size_t node = 0; node < best.sent.size(); ++node)
    of_node.push_back(std::min(best.sent[node], best.received[node]));
  return of_node;
}

/// After a pass that was to show whether its ranks move more than fewer did.
void Probe::grow() {
  const bool of_one_rank = growth_.senders() == 1;
  const std::int32_t since = of_one_rank ? 0 : round_ - rounds_of_a_pass(nodes_);
  if (of_one_rank && round_ < least_rounds) return; // the first round of two nodes tells too little
  if (!growth_.settle(best_since(since))) return;
  std::erase_if(rates_, [&](const topo::TransferRate& rate) { return rate.round < since; });
  counts_from_ = since;
}

void Probe::conclude_pass() {
  const std::int32_t pass = rounds_of_a_pass(nodes_);
  if (growth_.is_open()) grow();
  const bool first = round_ - counts_from_ == pass;
  const std::vector<std::int32_t> before = std::exchange(racks_, topo::racks_of(nodes_, rates_)).rack_of;
  if (growth_.is_open()) return;
  const bool last = round_ - counts_from_ >= (nodes_ > many_nodes ? most_passes_of_many : most_passes) * pass;
  const bool clear = racks_.inside > surely_inside && (racks_.racks == 1 || racks_.across < surely_across);
  const bool stable = racks_.rack_of == (first ? guess_ : before);
  // With fewer than four nodes there are no two racks of two; but a second look at each pair is wanted by outliers_of.
  if (!last && !(stable && (clear || nodes_ < 4))) return;
  if (!stable) racks_ = topo::without_racks(std::move(racks_));
  outliers_ = topo::outliers_of(racks_.rack_of, rates_, latencies_);
  failed_ = racks_.node_rate <= 0 || latencies_.empty();
  if (growth_.senders() > 1) rate_of_rank_ = median(growth_.of_one_rank());
  if (racks_.node_rate < least_gain * rate_of_rank_) rate_of_rank_ = 0; // it was a matter of noise
  const bool asks_which_way = nodes_ == 2 || !outliers_.cards.empty() || !outliers_.links.empty() ||
                              topo::has_slow_pair(racks_.rack_of, rates_);
  if (!failed_ && asks_which_way)
    part_ = Part::links_one_way;
  else
    conclude_links();
}

void Probe::conclude_links() {
  if (!one_way_rates_.empty()) outliers_ = topo::outliers_of(racks_.rack_of, one_way_rates_, latencies_);
  part_ = failed_ ? Part::over : Part::memory_alone;
  price_ = memory_price;
}

void Probe::settle_memory(std::span<const MemorySample> by_rank, std::span<const std::int32_t> node_of_rank) {
  double elapsed = 0;
  for (const MemorySample& sample : by_rank)
    elapsed = std::max(elapsed, sample.elapsed);
  spent_ += elapsed;
  earned_ -= elapsed;
  price_ = elapsed;
  const auto usual_of = [&](const auto& value_of) {
    std::vector<double> values;
    for (const MemorySample& sample : by_rank)
      if (const double value = value_of(sample); value > 0) values.push_back(value);
    return median(std::move(values));
  };
  const auto usual = [&](RatesOfCore MemorySample::*where, double RatesOfCore::*what) {
    return usual_of([&](const MemorySample& sample) { return sample.*where.*what; });
  };
  const bool alone = part_ == Part::memory_alone;
  for (const auto& [rates, where] :
       {std::pair{&cache_, &MemorySample::cache}, std::pair{&memory_, &MemorySample::memory}}) {
    (alone ? rates->copy : rates->copy_all) = usual(where, &RatesOfCore::copy);
    (alone ? rates->reduce : rates->reduce_all) = usual(where, &RatesOfCore::reduce);
  }
  part_ = alone ? Part::memory_together : Part::messages;
  if (alone) return;
  cache_share_ = usual_of([](const MemorySample& sample) { return sample.cache_share; });
  find_slow_cores(by_rank, node_of_rank);
  set_price_of_messages();
}

void Probe::set_price_of_messages() {
  constexpr double libraries = 2;
  price_ = libraries * message_seconds();
}

double Probe::message_seconds() const {
  constexpr double ways = 2;
  const double empty = link() == topo::LinkKind::uplink ? std::max(latency(), latency_across()) : latency();
  double seconds = 0;
  for (const std::size_t bytes : message_sizes) {
    double way = 0;
    double rate = racks_.uplink > 0 ? racks_.uplink : racks_.node_rate;
    if (rate_of_rank_ > 0) rate = std::min(rate, rate_of_rank_);
    if (topo::between_nodes(link()) && rate > 0) way = empty + static_cast<double>(bytes) / rate;
    seconds += std::max(seconds_of_a_size, ways * static_cast<double>(least_messages) * way);
  }
  return seconds;
}

void Probe::settle_messages(std::span<const MessageSample> by_rank) {
  double elapsed = 0;
  MessageTimes& link = messages_[link_];
  for (SecondsBySize MessageTimes::*library : {&MessageTimes::strata, &MessageTimes::native})
    for (std::size_t size = 0; size < message_sizes.size(); ++size) {
      std::vector<double> seen;
      for (const MessageSample& sample : by_rank)
        if (const double seconds = (sample.times.*library)[size]; seconds > 0) seen.push_back(seconds);
      (link.*library)[size] = median(std::move(seen));
    }
  for (const MessageSample& sample : by_rank)
    elapsed = std::max(elapsed, sample.elapsed);
  spent_ += elapsed;
  earned_ -= elapsed;
  if (++link_ < topo::link_kinds) return set_price_of_messages();
  part_ = nodes_ > 2 || (nodes_ == 2 && ranks_of_node_ > 1) ? Part::messages_of_all : Part::over;
  price_ = seconds_of_all;
}

void Probe::settle_messages_of_all(std::span<const CrowdSample> by_rank, std::span<const std::int32_t> node_of_rank) {
  double elapsed = 0;
  std::vector<double> senders(most_received_.size(), 0); // by node
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    elapsed = std::max(elapsed, by_rank[rank].elapsed);
    if (by_rank[rank].several > 0) ++senders[static_cast<std::size_t>(node_of_rank[rank])];
  }
  spent_ += elapsed;
  earned_ -= elapsed;
  part_ = Part::over;
  if (!outliers_.nodes.empty()) return; // whoever meets such a node is as late as it is
  std::vector<double> one, growth, gaps;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const CrowdSample& sample = by_rank[rank];
    if (sample.one <= 0 || sample.several <= 0 || sample.messages <= 1) continue;
    const double more = sample.messages - 1;
    one.push_back(sample.one);
    growth.push_back((sample.several / sample.one - 1) / more);
    gaps.push_back((sample.several - sample.one) / (more * senders[static_cast<std::size_t>(node_of_rank[rank])]));
  }
  if (one.empty()) return;
  gap_ = 0;
  const double gap = median(std::move(gaps));
  if (median(std::move(growth)) < least_hindrance || gap < least_gap) return;
  gap_ = gap;
  const double most_senders = *std::max_element(senders.begin(), senders.end());
  gap_senders_ = static_cast<std::int32_t>(most_senders);
  double least = messages_[static_cast<std::size_t>(topo::LinkKind::network)].strata.front();
  for (const topo::PairLatency& pair : latencies_)
    if (least <= 0 || pair.seconds < least) least = pair.seconds;
  most_latency_ = std::max(least, median(std::move(one)) - gap * most_senders);
}

/// By what all ranks of a node together do in their caches, where no neighbour on a memory bus disturbs them.
void Probe::find_slow_cores(std::span<const MemorySample> by_rank, std::span<const std::int32_t> node_of_rank) {
  std::vector<std::vector<double>> of_node(most_received_.size());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    of_node[static_cast<std::size_t>(node_of_rank[rank])].push_back(by_rank[rank].cache.reduce);
  std::vector<double> rates;
  for (std::vector<double>& node : of_node)
    rates.push_back(median(std::move(node)));
  outliers_.cores = topo::slow_cores(rates);
}

std::optional<bool> Probe::guess_confirmed() const {
  return guess_.empty() ? std::nullopt : std::optional(racks_.rack_of == guess_);
}

double Probe::latency() const {
  const double in_a_rack = usual_latency(latencies_, racks_.rack_of, Pairs::of_one_rack);
  return in_a_rack > 0 ? std::min(in_a_rack, most_latency_) : latency_across();
}

double Probe::latency_across() const { return usual_latency(latencies_, racks_.rack_of, Pairs::across_racks); }

} // namespace strata::tune
