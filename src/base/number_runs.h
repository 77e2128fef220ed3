// SPDX-License-Identifier: BSD-3-Clause
// Ascending numbers, written short.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace strata {

/// Consecutive numbers, both ends included.
template <typename Number>
struct NumberRun {
  Number first, last;
};

/// The runs, each as long as can be, of numbers that ascend, each there once.
template <typename Number>
std::vector<NumberRun<Number>> runs_of(std::span<const Number> numbers) {
  std::vector<NumberRun<Number>> runs;
  for (const Number number : numbers)
    if (!runs.empty() && runs.back().last + 1 == number)
      runs.back().last = number;
    else
      runs.push_back({number, number});
  return runs;
}

/// "0-3,7,8": such numbers, runs of three or more as ranges.
std::string number_list(std::span<const std::int32_t> numbers);

} // namespace strata
