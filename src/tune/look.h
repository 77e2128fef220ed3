// SPDX-License-Identifier: BSD-3-Clause
// A look at the calls of a size class: how long they take by now, to be held against what a trial found.
//
// With more ranks than cores, and over networks, calls have spells. (Three nodes of one rank on two cores, 4 bytes: in
// 8% of the time they take more than 1.5 times as long as usual, in spells of 3 to 40 ms.) A few calls in a row all lie
// in one spell, or in none. So there a look at short calls has parts that together outlast a spell, and tells the mean
// of the faster half of them, as the final of a trial does of its rounds (trial.h). Long calls outlast spells.
#pragma once

#include "tune/trial.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace strata::tune {

class Look {
public:
  /// At calls of about `bytes`, which are thought to take `seconds` each. Equal on all ranks if these are.
  Look(double seconds, std::size_t bytes, Noise noise);

  /// Takes the seconds that a call spent. True when the look is over, which is after calls() of them.
  bool add(double seconds);
  std::uint32_t calls() const { return calls_of_a_part_ * parts_; }
  /// Of a call, when the look is over.
  double seconds() const;

private:
  static constexpr std::uint32_t most_parts = 5;

  std::uint32_t calls_of_a_part_, parts_;
  std::uint32_t call_ = 0, part_ = 0;      ///< that are over
  double sum_ = 0;                         ///< of this part
  std::array<double, most_parts> seconds_; ///< of a call, by part; infinite of those that are not over
};

} // namespace strata::tune
