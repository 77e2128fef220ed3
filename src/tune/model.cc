// SPDX-License-Identifier: BSD-3-Clause
#include "tune/model.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace strata::tune {
namespace {

const LinkParameters& link_of(const Parameters& parameters, topo::LinkKind kind) {
  return parameters.links[static_cast<std::size_t>(kind)];
}

/// What one level costs for one slice: time on the way, and the part of it that is a rank's or a link's own work.
struct LevelCost {
  double latency = 0;
  double work = 0;
};

LevelCost cost_of(const coll::Cost& counts, double bytes, const LinkParameters& link, const JobShape& job,
                  topo::LinkKind kind) {
  LevelCost cost;
  const bool network = kind == topo::LinkKind::network;
  // In memory a round ends when all its ranks have had their turn on a core.
  cost.latency = counts.rounds * link.latency * (network ? 1 : job.crowding);
  // The ranks of a node share its NIC; in memory, one write serves all readers.
  const double link_time =
      network ? counts.sent * bytes * link.per_byte * job.ranks_per_node : counts.published * bytes * link.per_byte;
  const double rank_time = counts.messages * link.per_message + counts.received * bytes * link.read_per_byte +
                           counts.reduced * bytes * link.reduce_per_byte;
  cost.work = network ? std::max(link_time, rank_time * job.crowding) : (link_time + rank_time) * job.crowding;
  return cost;
}

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
  parameters.step = 0.02e-6;
  parameters.slice = 0.1e-6;
  return parameters;
}

JobShape shape_of(const topo::Hierarchy& hierarchy, std::span<const topo::RankFacts> facts,
                  std::span<const std::uint32_t> usable_cores) {
  JobShape job;
  job.hierarchy = hierarchy;
  for (std::size_t l = 0; l < hierarchy.levels.size(); ++l) {
    const topo::Level& level = hierarchy.levels[l];
    std::map<std::pair<std::int32_t, std::int32_t>, int> seen; // group, child
    std::vector<std::int32_t> children(static_cast<std::size_t>(level.groups), 0);
    for (std::size_t r = 0; r < level.group_of.size(); ++r) {
      const std::int32_t child = l == 0 ? static_cast<std::int32_t>(r) : hierarchy.levels[l - 1].group_of[r];
      if (seen.emplace(std::pair{level.group_of[r], child}, 1).second)
        ++children[static_cast<std::size_t>(level.group_of[r])];
    }
    job.members.push_back(*std::max_element(children.begin(), children.end()));
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

const coll::Cost& Costs::of(const coll::Form& form, int members) {
  const auto [found, added] = known_.try_emplace({form.cost, members});
  if (added && form) found->second = form.cost(members);
  return found->second;
}

double predict(const JobShape& job, const hier::Composition& composition, std::size_t bytes, std::size_t slice_bytes,
               const Parameters& parameters, Costs& costs) {
  const double slices =
      std::ceil(static_cast<double>(bytes) / static_cast<double>(std::max<std::size_t>(1, slice_bytes)));
  const double slice = static_cast<double>(bytes) / std::max(1.0, slices);
  double first = parameters.slice, slowest = parameters.slice, cpu = 0;
  double share = 1; // of the slice, that a rank works on at this level
  for (std::size_t l = 0; l < composition.levels.size(); ++l) {
    const hier::LevelPlan& plan = composition.levels[l];
    const topo::LinkKind kind = job.hierarchy.levels[l].link;
    const LinkParameters& link = link_of(parameters, kind);
    const int members = job.members[l];
    LevelCost cost;
    for (const coll::Form* form : hier::forms_of(plan)) {
      const LevelCost one = cost_of(costs.of(*form, members), slice * share, link, job, kind);
      cost.latency += one.latency;
      cost.work +=
          one.work * (kind == topo::LinkKind::network ? 1 : parameters.schedule_in_memory) + parameters.step * 2;
    }
    first += cost.latency + cost.work;
    if (kind == topo::LinkKind::network)
      slowest = std::max(slowest, cost.work);
    else
      cpu += cost.work; // levels in memory share the ranks' time: they do not overlap each other
    if (plan.shape == hier::Shape::scatter) share /= members;
  }
  slowest = std::max(slowest, cpu);
  return first + std::max(0.0, slices - 1) * slowest;
}

double predict_board(const JobShape& job, std::size_t bytes, const Parameters& parameters) {
  const LinkParameters& link = link_of(parameters, topo::LinkKind::shared_cache);
  const double ranks = job.hierarchy.ranks;
  return 0.3 * link.latency + link.latency * 0.4 * (ranks - 1) * job.crowding +
         static_cast<double>(bytes) *
             (link.per_byte + (ranks - 1) * link.read_per_byte + ranks * link.reduce_per_byte) * job.crowding;
}

double predict_native(const JobShape& job, std::size_t bytes, const Parameters& parameters) {
  const double size = static_cast<double>(bytes);
  const double ranks = job.hierarchy.ranks;
  const LinkParameters& memory = link_of(parameters, topo::LinkKind::shared_memory);
  const double rounds = std::ceil(std::log2(std::max(2.0, ranks)));
  // Point-to-point messages through memory: two copies each way and a matching queue.
  const double inside = (rounds * 1.5 * memory.latency + size * 8 * memory.per_byte) * job.crowding;
  if (job.nodes == 1) return inside;
  const LinkParameters& network = link_of(parameters, topo::LinkKind::network);
  const double small = rounds * (network.latency + network.per_message * job.crowding * 4) +
                       rounds * size * network.per_byte * job.ranks_per_node;
  const double nodes = job.nodes;
  const double large = 2 * rounds * (network.latency + network.per_message * job.crowding * 4) +
                       1.5 * 2 * (nodes - 1) / nodes * size * network.per_byte;
  return inside + std::min(small, large);
}

} // namespace strata::tune
