// SPDX-License-Identifier: BSD-3-Clause
#include "tune/growth.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace strata::tune {

bool moves_more(std::span<const double> before, std::span<const double> after) {
  constexpr double clearly = 1.2;
  std::vector<double> gains;
  for (std::size_t node = 0; node < before.size(); ++node)
    if (before[node] > 0 && after[node] > 0) gains.push_back(after[node] / before[node]);
  if (gains.size() < 2) return false;
  std::sort(gains.begin(), gains.end(), std::greater<>());
  return gains[std::max<std::size_t>(2, gains.size() / 4) - 1] >= clearly;
}

bool Growth::settle(std::vector<double> best_of_node) {
  const bool is_first = before_.empty();
  const bool more = !is_first && moves_more(before_, best_of_node);
  if (is_first) of_one_rank_ = best_of_node;
  if (more) enough_ = senders_;
  if (is_first || more) {
    before_ = std::move(best_of_node);
    add_ranks();
  } else {
    senders_ = enough_;
    open_ = false;
  }
  return more;
}

/// Twice as many. If less than half as many are left then, they take part too: what so few add cannot be told from
/// noise.
void Growth::add_ranks() {
  if (enough_ == most_) {
    open_ = false;
    return;
  }
  senders_ = 2 * enough_;
  if (most_ < senders_ + enough_) senders_ = most_;
}

} // namespace strata::tune
