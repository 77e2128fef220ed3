// SPDX-License-Identifier: BSD-3-Clause
// Rates of transfers that share NICs and uplinks, computed: max-min fair (Bertsekas and Gallager, Data Networks,
// section 6.5.2), with noise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace strata {

class NetworkModel {
public:
  NetworkModel(std::int32_t nodes, double nic, double noise, unsigned seed)
      : nic_out_(static_cast<std::size_t>(nodes), nic), nic_in_(nic_out_),
        latency_(static_cast<std::size_t>(nodes), 10e-6), rack_of_(static_cast<std::size_t>(nodes), 0), noise_(noise),
        random_(seed), latency_random_(seed) {}

  std::int32_t nodes() const { return static_cast<std::int32_t>(nic_out_.size()); }
  const std::vector<std::int32_t>& rack_of() const { return rack_of_; }

  /// Equal racks of random nodes, numbered by their lowest node.
  void put_into_racks(std::int32_t racks, double uplink) {
    for (std::size_t node = 0; node < rack_of_.size(); ++node)
      rack_of_[node] = static_cast<std::int32_t>(node) % racks;
    std::shuffle(rack_of_.begin(), rack_of_.end(), random_);
    std::vector<std::int32_t> number(static_cast<std::size_t>(racks), -1);
    std::int32_t next = 0;
    for (std::int32_t& rack : rack_of_) {
      std::int32_t& known = number[static_cast<std::size_t>(rack)];
      if (known < 0) known = next++;
      rack = known;
    }
    uplink_ = uplink;
  }
  void slow_down(std::size_t node, double factor) {
    slow_down_sending(node, factor);
    slow_down_receiving(node, factor);
  }
  void slow_down_sending(std::size_t node, double factor) { nic_out_[node] *= factor; }
  void slow_down_receiving(std::size_t node, double factor) { nic_in_[node] *= factor; }
  /// One way between two nodes carries at most this.
  void narrow(std::size_t from, std::size_t to, double most) { narrow_[{from, to}] = most; }
  /// The node answers late.
  void delay(std::size_t node, double seconds) { latency_[node] += seconds; }
  /// One rank of a node can send and receive at most this.
  void limit_ranks(double most) { most_of_rank_ = most; }

  /// Half a round trip between two nodes, which noise only makes longer; across racks it takes twice as long.
  double latency(std::size_t a, std::size_t b) {
    std::normal_distribution<double> noise(0, noise_);
    return (latency_[a] + latency_[b]) * (rack_of_[a] == rack_of_[b] ? 1 : 2) * (1 + std::abs(noise(latency_random_)));
  }

  enum class Ways { both, ascending, descending };

  /// What each node receives while all exchange with their partners, with so many ranks each. Both ways at once are as
  /// fast as the slower one: what it answers waits behind what it sends.
  std::vector<double> exchange(const std::vector<std::int32_t>& partners, Ways ways = Ways::both,
                               std::int32_t senders = 1) {
    most_of_senders_ = senders * most_of_rank_;
    std::vector<double> rates(partners.size(), 0);
    std::vector<bool> open(partners.size());
    for (std::size_t to = 0; to < partners.size(); ++to)
      open[to] = partners[to] >= 0 &&
                 (ways == Ways::both || (partners[to] < static_cast<std::int32_t>(to)) == (ways == Ways::ascending));
    while (std::find(open.begin(), open.end(), true) != open.end())
      fill(partners, rates, open);
    for (std::size_t to = 0; to < partners.size() && ways == Ways::both; ++to)
      if (partners[to] >= 0) rates[to] = std::min(rates[to], rates[static_cast<std::size_t>(partners[to])]);
    std::normal_distribution<double> noise(0, noise_);
    for (double& rate : rates)
      rate *= std::clamp(1 - std::abs(noise(random_)), 0.3, 1.0);
    return rates;
  }

private:
  bool crosses(std::size_t a, std::size_t b) const { return uplink_ > 0 && rack_of_[a] != rack_of_[b]; }

  // Raises all open transfers by what the tightest link allows, and closes those that go over it.
  void fill(const std::vector<std::int32_t>& partners, std::vector<double>& rates, std::vector<bool>& open) const {
    const std::size_t racks = rack_of_.size();
    std::vector<double> out(racks, uplink_), in(racks, uplink_);
    std::vector<int> open_out(racks, 0), open_in(racks, 0);
    const auto each = [&](auto&& visit) {
      for (std::size_t to = 0; to < partners.size(); ++to)
        if (partners[to] >= 0) visit(static_cast<std::size_t>(partners[to]), to);
    };
    each([&](std::size_t from, std::size_t to) {
      if (!crosses(from, to)) return;
      const auto a = static_cast<std::size_t>(rack_of_[from]), b = static_cast<std::size_t>(rack_of_[to]);
      out[a] -= rates[to];
      in[b] -= rates[to];
      open_out[a] += open[to];
      open_in[b] += open[to];
    });
    double step = 1e18;
    const auto room = [&](std::size_t from, std::size_t to) {
      double most = std::min({nic_out_[from], nic_in_[to], most_of_senders_});
      if (const auto link = narrow_.find({from, to}); link != narrow_.end()) most = std::min(most, link->second);
      most -= rates[to];
      if (!crosses(from, to)) return most;
      const auto a = static_cast<std::size_t>(rack_of_[from]), b = static_cast<std::size_t>(rack_of_[to]);
      return std::min({most, out[a] / open_out[a], in[b] / open_in[b]});
    };
    each([&](std::size_t from, std::size_t to) {
      if (open[to]) step = std::min(step, room(from, to));
    });
    std::vector<bool> full(open.size(), false);
    each([&](std::size_t from, std::size_t to) { full[to] = open[to] && room(from, to) <= step * (1 + 1e-9) + 1e-3; });
    for (std::size_t to = 0; to < open.size(); ++to) {
      if (open[to]) rates[to] += step;
      if (full[to]) open[to] = false;
    }
  }

  std::vector<double> nic_out_, nic_in_, latency_; ///< by node
  std::map<std::pair<std::size_t, std::size_t>, double> narrow_;
  std::vector<std::int32_t> rack_of_;
  double uplink_ = 0;
  double most_of_rank_ = 1e15, most_of_senders_ = 1e15;
  double noise_;
  std::mt19937 random_, latency_random_;
};

} // namespace strata
