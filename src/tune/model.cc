// SPDX-License-Identifier: BSD-3-Clause
#include "tune/model.h"

#include "sim/machine.h"
#include "topo/groups.h"
#include "tune/board.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace strata::tune {
namespace {

const LinkParameters& link_of(const Parameters& parameters, topo::LinkKind kind) {
  return parameters.links[static_cast<std::size_t>(kind)];
}

/// What one level costs for one slice: time on the way, and the work of what takes part.
struct LevelCost {
  double latency = 0;
  double nic = 0;    ///< of a node, for what it sends
  double takes = 0;  ///< of a node's NIC, for what comes in
  double uplink = 0; ///< of a rack
  double rank = 0;   ///< of a rank's core
  double flow = 0;   ///< of what a rank sends, where one alone cannot fill a node's links
  double pace = 0;   ///< of a node's messages, one after the other, whatever their size
  double chain = 0;  ///< work of those that do it one after the other
  double work() const { return std::max({nic, uplink, rank, flow, pace}); }
};

/// Of a type whose size the model is not told: that of float and int.
constexpr double usual_element_bytes = 4;

/// How many elements are in so many bytes.
double elements_in(double bytes) { return std::max(1.0, std::floor(bytes / usual_element_bytes)); }

/// What the longest chain of messages takes beside latencies, where that is more than the work of any member: of trees.
/// `per_byte`: seconds on the links.
double chain_of(const coll::Cost& counts, double bytes, const LinkParameters& link, double per_byte, double crowding) {
  if (counts.chain_messages == 0) return 0;
  const double chain = bytes * (counts.chain > 0 ? counts.chain : std::max(counts.sent, counts.received));
  return chain * per_byte + counts.chain_messages * std::max(0.0, link.gap - link.per_message * crowding) +
         (counts.chain_messages * link.per_message + chain * (link.read_per_byte + link.reduce_per_byte)) * crowding;
}

/// Ranks that work at a level, of the largest node and of the largest rack; and of a node, those that have an element,
/// and the part of their messages that hold one: others are not sent.
struct Working {
  double of_node, of_rack;
  double senders = 1, messages = 1;
};

/// Seconds for which the messages of a node keep each other waiting. Where few hold an element, each round of a
/// reduce-scatter has one; who has an element in an all-gather sends as many as ever.
double gaps_of(const coll::Cost& counts, double gap, const Working& working) {
  const double fewest = std::min(counts.rounds, counts.messages);
  const double messages = counts.reduced > 0 ? std::max(counts.messages * working.messages, fewest) : counts.messages;
  return messages * gap * working.senders;
}

LevelCost cost_of(const coll::Cost& counts, double bytes, const Parameters& parameters, const JobShape& job,
                  topo::LinkKind kind, const Working& working) {
  const LinkParameters& link = link_of(parameters, kind);
  const double rank_time = counts.messages * link.per_message + counts.received * bytes * link.read_per_byte +
                           counts.reduced * bytes * link.reduce_per_byte;
  LevelCost cost;
  if (!topo::between_nodes(kind)) {
    // A round ends when all its ranks have had their turn on a core; one write serves all readers.
    cost.latency = counts.rounds * link.latency * job.crowding;
    cost.rank = (counts.published * bytes * link.per_byte + rank_time) * job.crowding;
    return cost;
  }
  // The ranks of a node that send share its NIC, those of a rack its uplink.
  const LinkParameters& uplink = link_of(parameters, topo::LinkKind::uplink);
  const double network_per_byte = link_of(parameters, topo::LinkKind::network).per_byte;
  const double crossing = kind == topo::LinkKind::uplink ? 1 : job.crossing; // the part that leaves the rack
  cost.latency = counts.rounds * (crossing > 0 ? std::max(link.latency, uplink.latency) : link.latency);
  cost.rank = rank_time * job.crowding;
  cost.nic = counts.sent * bytes * network_per_byte * working.of_node;
  cost.takes = counts.received * bytes * network_per_byte * working.of_node;
  cost.pace = gaps_of(counts, link.gap, working);
  cost.flow = counts.sent * bytes * link.per_byte_of_rank;
  cost.uplink = counts.sent * bytes * uplink.per_byte * working.of_rack * crossing;
  // Chains of ranks that share a link are on it at once for about a half of the time.
  const auto shared = [](double ranks) { return (1 + ranks) / 2; };
  const double chain_per_byte = std::max({network_per_byte * shared(working.of_node), link.per_byte_of_rank,
                                          crossing * uplink.per_byte * shared(working.of_rack)});
  cost.chain = chain_of(counts, bytes, link, chain_per_byte, job.crowding);
  return cost;
}

/// Seconds for which NICs are busy with one slice, over all levels: of a leader of all levels so far, and the busiest
/// of the others. They work in both directions at once, and where members reduce to a leader and take its broadcast,
/// these are the NICs of others than the leader's, who in turn have no part in the levels that follow.
class Nics {
public:
  void take_level(hier::Shape shape, const std::vector<LevelCost>& forms) {
    if (shape == hier::Shape::leader) {
      const LevelCost &reduce = forms.front(), &broadcast = forms.back();
      others_ = std::max({others_, sends_ + reduce.nic, takes_ + broadcast.takes});
      takes_ += reduce.takes;
      sends_ += broadcast.nic;
      return;
    }
    for (const LevelCost& form : forms) {
      sends_ += form.nic;
      takes_ += form.takes;
    }
  }
  double busiest() const { return std::max({sends_, takes_, others_}); }

private:
  double sends_ = 0, takes_ = 0, others_ = 0;
};

} // namespace

Parameters default_parameters() {
  Parameters parameters;
  parameters.links[static_cast<std::size_t>(topo::LinkKind::shared_cache)] = {0.08e-6, 0.03e-6, 0.03e-9, 0.065e-9,
                                                                              0.01e-9};
  parameters.links[static_cast<std::size_t>(topo::LinkKind::shared_memory)] = {0.12e-6, 0.03e-6, 0.03e-9, 0.065e-9,
                                                                               0.01e-9};
  parameters.schedule_in_memory = 1.5;
  // 10 Gbit/s Ethernet: the choice between algorithms depends little on it, and the probe replaces it.
  parameters.links[static_cast<std::size_t>(topo::LinkKind::network)] = {15e-6, 2e-6, 0.8e-9, 0.1e-9, 0.05e-9};
  parameters.links[static_cast<std::size_t>(topo::LinkKind::uplink)] =
      parameters.links[static_cast<std::size_t>(topo::LinkKind::network)];
  parameters.step = 0.02e-6;
  parameters.slice = 0.1e-6;
  return parameters;
}

JobShape shape_of(const topo::Regular& hierarchy) {
  JobShape job;
  job.hierarchy = topo::outline_of(hierarchy);
  std::int32_t inside = 1; // ranks in a group of the level before
  for (const topo::RegularLevel& level : hierarchy.levels) {
    job.members.push_back(level.members);
    if (level.link == topo::LinkKind::uplink) job.ranks_per_rack = inside;
    inside *= level.members;
    if (!topo::between_nodes(level.link)) job.ranks_per_node = inside;
  }
  job.nodes = hierarchy.ranks / job.ranks_per_node;
  return job;
}

void take_rates(Parameters& parameters, const MemoryRates& cache, const MemoryRates& memory, double cache_share) {
  constexpr double operands = 2; // of the sum that was measured
  const auto busy_or_alone = [](double busy, double alone) { return busy > 0 ? busy : alone; };
  for (const topo::LinkKind kind : {topo::LinkKind::shared_cache, topo::LinkKind::shared_memory}) {
    LinkParameters& link = parameters.links[static_cast<std::size_t>(kind)];
    if (const double copy = busy_or_alone(cache.copy_all, cache.copy); copy > 0) {
      link.read_per_byte *= 1 / copy / link.per_byte; // reading what another core wrote costs its multiple of a copy
      link.per_byte = 1 / copy;
    }
    if (const double reduce = busy_or_alone(cache.reduce_all, cache.reduce); reduce > 0)
      link.reduce_per_byte = 1 / (operands * reduce);
  }
  for (const topo::LinkKind kind : {topo::LinkKind::network, topo::LinkKind::uplink}) {
    LinkParameters& link = parameters.links[static_cast<std::size_t>(kind)];
    if (const double copy = busy_or_alone(memory.copy_all, memory.copy); copy > 0) link.read_per_byte = 1 / copy;
    if (const double reduce = busy_or_alone(memory.reduce_all, memory.reduce); reduce > 0)
      link.reduce_per_byte = 1 / (operands * reduce);
  }
  const double in_cache = busy_or_alone(cache.copy_all, cache.copy);
  const double in_memory = busy_or_alone(memory.copy_all, memory.copy);
  if (cache_share <= 0 || in_cache <= 0 || in_memory <= 0) return;
  parameters.cache_share = cache_share;
  parameters.beyond_cache_per_byte = std::max(0.0, 1 / in_memory - 1 / in_cache); // a copy reads and writes once
}

void take_messages(Parameters& parameters, const MessageTimesByLink& messages) {
  // Between any two cores of a machine a line takes less.
  constexpr double most_between_cores = 2e-6;
  parameters.messages = messages;
  for (const topo::LinkKind kind : {topo::LinkKind::shared_cache, topo::LinkKind::shared_memory}) {
    const auto link = static_cast<std::size_t>(kind);
    SecondsBySize& native = parameters.messages[link].native;
    if (native[0] > most_between_cores) native = {};
    const SecondsBySize& strata = messages[link].strata;
    if (strata[0] <= 0 || strata[0] >= most_between_cores) continue;
    LinkParameters& numbers = parameters.links[link];
    numbers.latency = strata[0];
    // A message is written once and read once.
    if (const double each = seconds_per_byte(strata); each > numbers.per_byte)
      numbers.read_per_byte = each - numbers.per_byte;
  }
  const auto network = static_cast<std::size_t>(topo::LinkKind::network);
  const auto uplink = static_cast<std::size_t>(topo::LinkKind::uplink);
  // What was not told apart is one.
  const bool is_one = parameters.links[uplink].latency == parameters.links[network].latency;
  const bool stands_for_uplink = is_one && messages[uplink].strata.front() <= 0;
  for (const std::size_t link : {network, uplink}) {
    double& latency = parameters.links[link].latency;
    latency = latency_beside(latency, messages[link == uplink && stands_for_uplink ? network : link].strata);
  }
}

void take_gap(Parameters& parameters, double gap) {
  for (const topo::LinkKind kind : {topo::LinkKind::network, topo::LinkKind::uplink})
    parameters.links[static_cast<std::size_t>(kind)].gap = gap;
}

void bound_latency(Parameters& parameters, double latency) {
  double& network = parameters.links[static_cast<std::size_t>(topo::LinkKind::network)].latency;
  double& uplink = parameters.links[static_cast<std::size_t>(topo::LinkKind::uplink)].latency;
  const double bounded = std::min(network, latency);
  if (uplink == network) uplink = bounded; // what was not told apart is one
  network = bounded;
}

JobShape shape_of(const topo::Hierarchy& hierarchy, std::span<const topo::RankFacts> facts,
                  std::span<const std::uint32_t> usable_cores) {
  JobShape job;
  job.hierarchy = hierarchy;
  job.members = topo::most_members(hierarchy);
  for (std::size_t l = 0; l < hierarchy.levels.size(); ++l) {
    if (hierarchy.levels[l].link != topo::LinkKind::uplink) continue;
    job.ranks_per_rack = 1;
    if (l == 0) continue;
    std::vector<std::int32_t> in_rack(static_cast<std::size_t>(hierarchy.levels[l - 1].groups), 0);
    for (const std::int32_t rack : hierarchy.levels[l - 1].group_of)
      ++in_rack[static_cast<std::size_t>(rack)];
    job.ranks_per_rack = *std::max_element(in_rack.begin(), in_rack.end());
  }
  std::map<std::int32_t, std::pair<std::int32_t, std::uint32_t>> nodes; // ranks, cores
  for (std::size_t r = 0; r < facts.size(); ++r) {
    auto& [ranks, cores] = nodes[facts[r].memory_group];
    ++ranks;
    cores = std::max(cores, usable_cores[r]);
  }
  job.nodes = static_cast<std::int32_t>(nodes.size());
  for (const auto& [group, node] : nodes) {
    job.ranks_per_node = std::max(job.ranks_per_node, node.first);
    job.crowding = std::max(job.crowding, static_cast<double>(node.first) / std::max(1U, node.second));
  }
  return job;
}

void note_racks(JobShape& plain, const JobShape& with_racks) {
  if (with_racks.ranks_per_rack == 0) return; // their uplinks are not narrow
  plain.ranks_per_rack = with_racks.ranks_per_rack;
  const double others = plain.hierarchy.ranks - plain.ranks_per_node;
  plain.crossing = others <= 0 ? 0 : 1 - (plain.ranks_per_rack - plain.ranks_per_node) / others;
}

const coll::Cost& Costs::of(const coll::Form& form, int members) {
  const auto [found, added] = known_.try_emplace({form.cost, members});
  if (added && form) found->second = form.cost(members);
  return found->second;
}

Prediction predict(const JobShape& job, const hier::Composition& composition, std::size_t bytes,
                   std::size_t slice_bytes, const Parameters& parameters, Costs& costs) {
  const double slices =
      std::ceil(static_cast<double>(bytes) / static_cast<double>(std::max<std::size_t>(1, slice_bytes)));
  const double slice = static_cast<double>(bytes) / std::max(1.0, slices);
  double first = parameters.slice;
  // Work of one slice, over all levels, which share a rank's time.
  double uplink = 0, rank = 0, flow = 0, pace = 0;
  Nics nics;
  std::vector<LevelCost> of_forms;
  bool in_memory = false;
  Working working{static_cast<double>(job.ranks_per_node), static_cast<double>(job.ranks_per_rack)};
  double share = 1; // of the slice, that a rank works on at this level
  for (std::size_t l = 0; l < composition.levels.size(); ++l) {
    const hier::LevelPlan& plan = composition.levels[l];
    const topo::LinkKind kind = job.hierarchy.levels[l].link;
    const int members = job.members[l];
    const bool scatters = plan.shape == hier::Shape::scatter;
    working.senders = std::min(working.of_node, elements_in(slice));
    working.messages = scatters ? std::min(1.0, elements_in(slice * share) / members) : 1;
    of_forms.clear();
    for (const coll::Form* form : hier::forms_of(plan)) {
      const LevelCost cost = cost_of(costs.of(*form, members), slice * share, parameters, job, kind, working);
      const double steps = parameters.step * 2;
      const double work = cost.work() * (topo::between_nodes(kind) ? 1 : parameters.schedule_in_memory) + steps;
      first += cost.latency + std::max(work, cost.chain);
      of_forms.push_back(cost);
      uplink += cost.uplink;
      flow += cost.flow;
      pace += cost.pace;
      rank += topo::between_nodes(kind) ? cost.rank + steps : work;
      in_memory |= !topo::between_nodes(kind);
    }
    nics.take_level(plan.shape, of_forms);
    if (scatters) share /= members;
    if (plan.shape != hier::Shape::leader) continue;
    if (!topo::between_nodes(kind)) working.of_node = std::max(1.0, working.of_node / members);
    working.of_rack = std::min(working.of_rack, std::max(1.0, working.of_rack / members));
  }
  if (in_memory) {
    const double beyond = sim::part_beyond_cache(static_cast<double>(bytes), parameters.cache_share) * slice *
                          parameters.beyond_cache_per_byte * job.crowding;
    first += beyond;
    rank += beyond;
  }
  const double slowest = std::max({parameters.slice, nics.busiest(), uplink, rank, flow, pace});
  return {slices, first, slowest};
}

// A slice begins when the one that is `window` before it is over.
double Prediction::seconds(std::uint64_t window) const {
  const double in_flight = static_cast<double>(std::max<std::uint64_t>(1, window));
  const double others = std::max(0.0, slices - 1), waits = std::floor(others / in_flight);
  return first + others * slowest + waits * std::max(0.0, first - in_flight * slowest);
}

double predict_board(const JobShape& job, std::size_t bytes, const Parameters& parameters) {
  const LinkParameters& link = link_of(parameters, topo::LinkKind::shared_cache);
  const double ranks = job.hierarchy.ranks;
  // Longer vectors go in parts (comm/context_parts.cc), of which peers' results are read without a reduction.
  const std::size_t piece = board_piece_bytes(job.hierarchy.ranks), shortest_ring = 4 * piece;
  const bool in_parts = bytes > piece && board_piece_of_parts(job.hierarchy.ranks, shortest_ring, bytes, true) > 0;
  const double others = (ranks - 1) / ranks;
  const double read = in_parts ? 2 * others : ranks - 1, reduced = in_parts ? 1 + others : ranks;
  return 0.3 * link.latency + link.latency * 0.4 * (ranks - 1) * job.crowding +
         static_cast<double>(bytes) * (link.per_byte + read * link.read_per_byte + reduced * link.reduce_per_byte) *
             job.crowding;
}

namespace {

/// Of an empty message of the MPI library's.
double native_latency(const Parameters& parameters, topo::LinkKind kind, double otherwise) {
  const double measured = parameters.messages[static_cast<std::size_t>(kind)].native[0];
  return measured > 0 ? measured : otherwise;
}

} // namespace

double predict_native(const JobShape& job, std::size_t bytes, const Parameters& parameters) {
  const double size = static_cast<double>(bytes);
  const double ranks = job.hierarchy.ranks;
  const LinkParameters& memory = link_of(parameters, topo::LinkKind::shared_memory);
  const double rounds = std::ceil(std::log2(std::max(2.0, ranks)));
  // Point-to-point messages through memory: two copies each way and a matching queue.
  const double inside = (rounds * native_latency(parameters, topo::LinkKind::shared_memory, 1.5 * memory.latency) +
                         size * 8 * memory.per_byte) *
                        job.crowding;
  if (job.nodes == 1) return inside;
  const LinkParameters& network = link_of(parameters, topo::LinkKind::network);
  // Where there are racks, most pairs of nodes are in two.
  const auto farthest = job.ranks_per_rack > 0 ? topo::LinkKind::uplink : topo::LinkKind::network;
  const double latency =
      native_latency(parameters, farthest, std::max(network.latency, link_of(parameters, farthest).latency));
  const double message = std::max(latency, network.gap * job.ranks_per_node) + network.per_message * job.crowding * 4;
  const double small =
      rounds * message + rounds * size * std::max(network.per_byte * job.ranks_per_node, network.per_byte_of_rank);
  const double nodes = job.nodes;
  const double large = 2 * rounds * message +
                       1.5 * 2 * (nodes - 1) / nodes * size * std::max(network.per_byte, network.per_byte_of_rank);
  return inside + std::min(small, large);
}

} // namespace strata::tune
