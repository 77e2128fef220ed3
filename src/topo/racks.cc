// SPDX-License-Identifier: BSD-3-Clause
// Average-linkage clustering (Sokal and Michener 1958) of nodes, by how close a pair comes to what its nodes can do at
// best while others send as well.
//
// In a round, each node sends to one other. A pair inside a rack keeps its NICs' rate whatever the others do; the pairs
// that leave a rack share its uplink:
//
//     rack A (uplink: one NIC)      rack B          pair     rate / best
//        a0 ------------------------- b0            a0 b0        0.5
//        a1 ------------------------- b1            a1 b1        0.5
//        a2 -------- a3                             a2 a3        1.0
//
// A pair that happens to be alone on an uplink of a whole NIC looks like one inside. So each pair is seen several times
// beside others, the lower half of what it reached counts, and it is the mean over all pairs of two groups of nodes
// that decides whether they are one.
#include "topo/racks.h"

#include "base/median.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace strata::topo {
namespace {

/// Groups whose pairs reach this much of their nodes' best are one rack. Two that share an uplink reach a half of it.
constexpr double together = 0.75;
/// Racks are believed when pairs across reach at most this part of what pairs inside do.
constexpr double clearly_apart = 0.8;

/// How close two nodes came to their best: the mean of the lower half of what was seen, both ways.
struct Pair {
  std::int32_t a, b;
  double relative_rate;
};

std::vector<Pair> pairs_of(std::span<const TransferRate> rates, const BestRates& best) {
  std::vector<Pair> pairs;
  for (auto& [nodes, relative] : relative_by_pair(rates, best)) {
    std::sort(relative.begin(), relative.end());
    const auto half = static_cast<std::ptrdiff_t>((relative.size() + 1) / 2);
    pairs.push_back({nodes.first, nodes.second,
                     std::accumulate(relative.begin(), relative.begin() + half, 0.0) / static_cast<double>(half)});
  }
  return pairs;
}

/// Sums of relative rates between groups of nodes, and which groups are left. A group is known by its first node.
class Linkage {
public:
  Linkage(std::int32_t nodes, std::span<const Pair> pairs)
      : nodes_(static_cast<std::size_t>(nodes)), sums_(nodes_ * nodes_), group_of_(nodes_), closest_(nodes_) {
    for (std::size_t node = 0; node < nodes_; ++node)
      group_of_[node] = static_cast<std::int32_t>(node);
    for (const Pair& pair : pairs) {
      const auto a = static_cast<std::size_t>(pair.a), b = static_cast<std::size_t>(pair.b);
      sums_[a * nodes_ + b] = sums_[b * nodes_ + a] = {pair.relative_rate, 1};
    }
    for (std::size_t node = 0; node < nodes_; ++node)
      find_closest(node);
  }

  /// Joins the two closest groups; false when none are close enough.
  bool join_closest() {
    std::size_t first = nodes_;
    for (std::size_t group = 0; group < nodes_; ++group)
      if (is_alive(group) && closeness(group, closest_[group]) >= together &&
          (first == nodes_ || closeness(group, closest_[group]) > closeness(first, closest_[first])))
        first = group;
    if (first == nodes_) return false;
    join(std::min(first, closest_[first]), std::max(first, closest_[first]));
    return true;
  }

  const std::vector<std::int32_t>& group_of() const { return group_of_; }

private:
  struct Sum {
    double sum = 0;
    int count = 0;
  };

  bool is_alive(std::size_t group) const { return group_of_[group] == static_cast<std::int32_t>(group); }
  double closeness(std::size_t a, std::size_t b) const {
    const Sum& between = sums_[a * nodes_ + b];
    return a == b || between.count == 0 ? 0 : between.sum / between.count;
  }
  void find_closest(std::size_t group) {
    closest_[group] = group;
    for (std::size_t other = 0; other < nodes_; ++other)
      if (is_alive(other) && closeness(group, other) > closeness(group, closest_[group])) closest_[group] = other;
  }

  /// A group's mean is between those of its parts, so whoever was closest to neither of them keeps its closest.
  void join(std::size_t into, std::size_t gone) {
    for (std::size_t other = 0; other < nodes_; ++other) {
      if (other == into) continue;
      const Sum more = sums_[gone * nodes_ + other];
      for (const std::size_t cell : {into * nodes_ + other, other * nodes_ + into}) {
        sums_[cell].sum += more.sum;
        sums_[cell].count += more.count;
      }
    }
    for (std::int32_t& group : group_of_)
      if (group == static_cast<std::int32_t>(gone)) group = static_cast<std::int32_t>(into);
    for (std::size_t group = 0; group < nodes_; ++group)
      if (is_alive(group) && (group == into || closest_[group] == into || closest_[group] == gone)) find_closest(group);
  }

  std::size_t nodes_;
  std::vector<Sum> sums_;
  std::vector<std::int32_t> group_of_;
  std::vector<std::size_t> closest_; ///< by group: the other that it is closest to; itself: none
};

/// Mean relative rates inside racks and across them.
void compare(Racks& racks, std::span<const Pair> pairs) {
  double sums[2] = {0, 0};
  int counts[2] = {0, 0};
  for (const Pair& pair : pairs) {
    const bool across =
        racks.rack_of[static_cast<std::size_t>(pair.a)] != racks.rack_of[static_cast<std::size_t>(pair.b)];
    sums[across] += pair.relative_rate;
    ++counts[across];
  }
  racks.inside = counts[0] == 0 ? 1 : sums[0] / counts[0];
  racks.across = counts[1] == 0 ? racks.inside : sums[1] / counts[1];
}

/// What a rack sent out in a round in which several of its nodes did: that is the uplink.
double uplink_of(const Racks& racks, std::span<const TransferRate> rates) {
  struct Sent {
    double rate = 0;
    int pairs = 0;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Sent> by_round; // round, rack
  for (const TransferRate& rate : rates) {
    const std::int32_t rack = racks.rack_of[static_cast<std::size_t>(rate.from)];
    if (rack == racks.rack_of[static_cast<std::size_t>(rate.to)]) continue;
    Sent& sent = by_round[{rate.round, rack}];
    sent.rate += rate.bytes_per_second;
    ++sent.pairs;
  }
  std::vector<double> crowded;
  for (const auto& [key, sent] : by_round)
    if (sent.pairs > 1) crowded.push_back(sent.rate);
  return median(std::move(crowded));
}

/// Racks numbered by their lowest node.
struct Numbered {
  std::vector<std::int32_t> rack_of;
  std::vector<int> sizes;
  bool are_racks() const {
    return std::count_if(sizes.begin(), sizes.end(), [](int size) { return size > 1; }) >= 2;
  }
};

template <typename Key>
Numbered numbered_racks(std::span<const Key> keys) {
  std::map<Key, std::int32_t> number;
  Numbered racks;
  for (const Key& key : keys) {
    const auto [known, is_new] = number.emplace(key, static_cast<std::int32_t>(number.size()));
    if (is_new) racks.sizes.push_back(0);
    racks.rack_of.push_back(known->second);
    ++racks.sizes[static_cast<std::size_t>(known->second)];
  }
  return racks;
}

} // namespace

std::vector<std::int32_t> racks_by_name(std::span<const std::string> switch_of_node) {
  if (std::find(switch_of_node.begin(), switch_of_node.end(), std::string()) != switch_of_node.end()) return {};
  Numbered racks = numbered_racks(switch_of_node);
  return racks.are_racks() ? std::move(racks.rack_of) : std::vector<std::int32_t>();
}

BestRates::BestRates(std::int32_t nodes, std::span<const TransferRate> rates)
    : sent(static_cast<std::size_t>(nodes), 0), received(sent) {
  for (const TransferRate& rate : rates) {
    double& out = sent[static_cast<std::size_t>(rate.from)];
    double& in = received[static_cast<std::size_t>(rate.to)];
    out = std::max(out, rate.bytes_per_second);
    in = std::max(in, rate.bytes_per_second);
  }
}

double BestRates::of_pair(const TransferRate& rate) const {
  return std::min(sent[static_cast<std::size_t>(rate.from)], received[static_cast<std::size_t>(rate.to)]);
}

std::map<std::pair<std::int32_t, std::int32_t>, std::vector<double>>
relative_by_pair(std::span<const TransferRate> rates, const BestRates& best) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<double>> relative;
  for (const TransferRate& rate : rates)
    if (const double most = best.of_pair(rate); most > 0)
      relative[std::minmax(rate.from, rate.to)].push_back(rate.bytes_per_second / most);
  return relative;
}

Racks without_racks(Racks racks) {
  std::fill(racks.rack_of.begin(), racks.rack_of.end(), 0);
  racks.racks = 1;
  racks.uplink = 0;
  racks.across = racks.inside = racks.of_all;
  return racks;
}

Racks racks_of(std::int32_t nodes, std::span<const TransferRate> rates) {
  Racks racks;
  racks.rack_of.assign(static_cast<std::size_t>(nodes), 0);
  if (rates.empty()) return racks;
  const BestRates best(nodes, rates);
  std::vector<double> node_rates;
  for (std::size_t node = 0; node < racks.rack_of.size(); ++node)
    node_rates.push_back(std::min(best.sent[node], best.received[node]));
  racks.node_rate = median(node_rates);
  const std::vector<Pair> pairs = pairs_of(rates, best);
  compare(racks, pairs);
  racks.of_all = racks.inside;

  Linkage linkage(nodes, pairs);
  while (linkage.join_closest()) {
  }
  const auto numbered = numbered_racks<std::int32_t>(linkage.group_of());
  racks.rack_of = numbered.rack_of;
  if (!numbered.are_racks()) return without_racks(std::move(racks));
  racks.racks = static_cast<std::int32_t>(numbered.sizes.size());
  compare(racks, pairs);
  racks.uplink = uplink_of(racks, rates);
  if (racks.across > clearly_apart * racks.inside) return without_racks(std::move(racks));
  return racks;
}

} // namespace strata::topo
