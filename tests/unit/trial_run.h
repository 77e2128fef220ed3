// SPDX-License-Identifier: BSD-3-Clause
// A trial of some ranks, whose calls take as long as a test says.
#pragma once

#include "tune/trial.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace strata::tune {

/// Runs a trial on several ranks; seconds(rank, way, call). Gives the calls that were made, or 0 if ranks disagreed.
inline std::size_t run(std::vector<Trial>& ranks,
                       const std::function<double(std::size_t, std::size_t, std::size_t)>& seconds) {
  for (std::size_t call = 0; call < 100000; ++call) {
    bool round_over = false;
    const std::size_t way = ranks[0].way();
    if (ranks[0].rests()) {
      (void)seconds(0, way, call); // it is run all the same
      for (Trial& rank : ranks) {
        if (rank.way() != way || !rank.rests()) return 0;
        rank.rested();
      }
      continue;
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].way() != way) return 0;
      round_over = ranks[rank].add(seconds(rank, way, call));
    }
    if (!round_over) continue;
    std::vector<double> all;
    for (const Trial& rank : ranks)
      all.insert(all.end(), rank.times().begin(), rank.times().end());
    bool over = false;
    for (Trial& rank : ranks)
      over = rank.settle(all);
    if (over) return call + 1;
  }
  return 0;
}

} // namespace strata::tune
