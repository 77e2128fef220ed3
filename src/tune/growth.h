// SPDX-License-Identifier: BSD-3-Clause
// How many ranks of a node it takes to fill the node's links. A node may have several cards, and one rank's core or
// card may be too slow for the node's. So each pass of a probe has twice the ranks of the one before, as long as that
// moves clearly more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace strata::tune {

class Growth {
public:
  /// `most`: ranks of the smallest node, because one with fewer than others would seem to have a slow card.
  explicit Growth(std::int32_t most) : open_(most > 1), most_(most) {}

  /// Whether more ranks may move more.
  bool is_open() const { return open_; }
  /// Ranks of each node that were seen to move more than fewer.
  std::int32_t enough() const { return enough_; }
  /// Ranks of each node that take part in the next pass.
  std::int32_t senders() const { return senders_; }
  /// The best that each node reached in a pass of senders() of each, in bytes per second; 0: it had no partner. True if
  /// that is clearly more than in the pass before.
  bool settle(std::vector<double> best_of_node);
  /// The same in the pass of one rank of each.
  const std::vector<double>& of_one_rank() const { return of_one_rank_; }

private:
  void add_ranks();

  bool open_;
  std::int32_t most_;
  std::int32_t enough_ = 1;
  std::int32_t senders_ = 1;
  std::vector<double> of_one_rank_;
  std::vector<double> before_; ///< of enough_ ranks
};

/// Whether more ranks were worth it: what a quarter of the nodes reach, and two at least, grew by a fifth. Links that
/// are full move the same, and noise is not as much. A node whose every pair is behind a narrow uplink shows no
/// growth.
bool moves_more(std::span<const double> before, std::span<const double> after);

} // namespace strata::tune
