// SPDX-License-Identifier: BSD-3-Clause
// What shows where:
//
//     slow card of b, both ways      slow card of b, sending     slow link from b to c        slow node b
//        a --- b   all of b's          a <-- b  what all get        a --- b                     a ... b  every answer
//        c --- b   pairs, both         c <-- b  from b              c <-- b  this one alone      c ... b  of b comes
//        late
//
// So cards are judged by the best that a node has sent and received, and links by how each way of a pair compares with
// the best of its two ends: a slow card then accounts for itself.
#include "topo/outliers.h"

#include "base/median.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace strata::topo {
namespace {

/// Fewer samples of a node's latency than two passes over three nodes give may all have met the same bad moment.
constexpr std::size_t least_samples = 8;

std::size_t place(std::int32_t node) { return static_cast<std::size_t>(node); }

std::vector<double> measured(const std::vector<double>& values) {
  std::vector<double> some;
  std::copy_if(values.begin(), values.end(), std::back_inserter(some), [](double value) { return value > 0; });
  return some;
}

std::vector<SlowCard> slow_cards(const BestRates& best) {
  std::vector<SlowCard> slow;
  if (best.sent.size() < 3) return slow; // which of two is the slow one?
  const double sent = median(measured(best.sent)), received = median(measured(best.received));
  for (std::size_t node = 0; node < best.sent.size(); ++node) {
    if (best.sent[node] <= 0 || best.received[node] <= 0) continue;
    SlowCard card{static_cast<std::int32_t>(node), best.sent[node] / sent, best.received[node] / received};
    if (card.sends >= clearly_slow) card.sends = 1;
    if (card.receives >= clearly_slow) card.receives = 1;
    if (card.sends < 1 || card.receives < 1) slow.push_back(card);
  }
  return slow;
}

/// The lower one of two in the middle: of a node with two partners, one of them slow, the other counts.
double lower_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A pair of racks is far, one of one rack near: a node may be the only one of its rack and is not slow for that. What
/// is usual is taken over nodes, because a slow node of few has a part in most pairs.
std::vector<SlowNode> slow_nodes(std::span<const std::int32_t> rack_of, std::span<const PairLatency> latencies) {
  std::vector<SlowNode> slow;
  if (rack_of.size() < 3) return slow;
  const auto is_far = [&](const PairLatency& pair) { return rack_of[place(pair.from)] != rack_of[place(pair.to)]; };
  std::vector<std::array<std::vector<double>, 2>> seconds(rack_of.size()); // near, far
  for (const PairLatency& pair : latencies)
    for (const std::int32_t node : {pair.from, pair.to})
      seconds[place(node)][is_far(pair)].push_back(pair.seconds);
  std::array<double, 2> usual{};
  for (std::size_t kind = 0; kind < usual.size(); ++kind) {
    std::vector<double> of_nodes;
    for (const auto& node : seconds)
      if (!node[kind].empty()) of_nodes.push_back(lower_median(node[kind]));
    usual[kind] = lower_median(std::move(of_nodes));
  }
  for (std::size_t node = 0; node < seconds.size(); ++node) {
    if (seconds[node][0].size() + seconds[node][1].size() < least_samples) continue;
    std::vector<double> relative;
    for (std::size_t kind = 0; kind < usual.size(); ++kind)
      for (const double one : seconds[node][kind])
        relative.push_back(one / usual[kind]);
    // Every answer of a slow node comes late. One that shares its cores answers late now and then, and is none.
    const auto early = relative.begin() + static_cast<std::ptrdiff_t>((relative.size() - 1) / 5);
    std::nth_element(relative.begin(), early, relative.end());
    if (*early >= clearly_late) slow.push_back({static_cast<std::int32_t>(node), lower_median(std::move(relative))});
  }
  return slow;
}

std::vector<AsymmetricLink> asymmetric_links(std::span<const TransferRate> rates, const BestRates& best) {
  using Round = std::tuple<std::int32_t, std::int32_t, std::int32_t>; // nodes, lower first, and round
  std::map<Round, std::array<double, 2>> both_ways;
  for (const TransferRate& rate : rates) {
    const auto [low, high] = std::minmax(rate.from, rate.to);
    const double expected = best.sent.size() > 2 ? best.of_pair(rate) : 1;
    if (expected > 0) both_ways[{low, high, rate.round}][rate.from > rate.to] = rate.bytes_per_second / expected;
  }
  std::map<std::pair<std::int32_t, std::int32_t>, std::array<std::vector<double>, 2>> relative; // to the other way
  for (const auto& [round, ways] : both_ways) {
    if (ways[0] <= 0 || ways[1] <= 0) continue;
    auto& pair = relative[{std::get<0>(round), std::get<1>(round)}];
    pair[0].push_back(ways[0] / ways[1]);
    pair[1].push_back(ways[1] / ways[0]);
  }
  std::vector<AsymmetricLink> links;
  for (const auto& [nodes, ways] : relative) {
    const double most = ways[0].size() > 1 ? clearly_slow : surely_slow;
    if (const double upwards = median(ways[0]); upwards < most) links.push_back({nodes.first, nodes.second, upwards});
    if (const double downwards = median(ways[1]); downwards < most)
      links.push_back({nodes.second, nodes.first, downwards});
  }
  return links;
}

} // namespace

Outliers outliers_of(std::span<const std::int32_t> rack_of, std::span<const TransferRate> rates,
                     std::span<const PairLatency> latencies) {
  const BestRates best(static_cast<std::int32_t>(rack_of.size()), rates);
  return {slow_cards(best), slow_nodes(rack_of, latencies), asymmetric_links(rates, best), {}};
}

bool has_slow_pair(std::span<const std::int32_t> rack_of, std::span<const TransferRate> rates) {
  const BestRates best(static_cast<std::int32_t>(rack_of.size()), rates);
  const auto relative = relative_by_pair(rates, best);
  return std::any_of(relative.begin(), relative.end(), [&](const auto& pair) {
    const auto [low, high] = pair.first;
    return rack_of[place(low)] == rack_of[place(high)] && median(pair.second) < clearly_slow;
  });
}

std::vector<SlowCores> slow_cores(std::span<const double> rate_of_node) {
  std::vector<SlowCores> slow;
  if (rate_of_node.size() < 3) return slow;
  const double usual = median(measured({rate_of_node.begin(), rate_of_node.end()}));
  for (std::size_t node = 0; node < rate_of_node.size(); ++node)
    if (rate_of_node[node] > 0 && rate_of_node[node] < clearly_slow * usual)
      slow.push_back({static_cast<std::int32_t>(node), rate_of_node[node] / usual});
  return slow;
}

} // namespace strata::topo
