// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf.h"

#include <algorithm>
#include <cmath>

namespace strata::tools {
namespace {

/// Between the two nearest ranks where there is none; `sorted` is not empty.
double percentile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = place - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

} // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.1), percentile(values, 0.5), percentile(values, 0.9)};
}

double doubt_of_median(std::vector<double> values) {
  if (values.size() < 3) return 1;
  std::sort(values.begin(), values.end());
  const auto many = static_cast<double>(values.size());
  const double part = std::min(0.5, std::sqrt(many) / 2 / (many - 1));
  const double median = percentile(values, 0.5);
  return median > 0 ? (percentile(values, 0.5 + part) - percentile(values, 0.5 - part)) / 2 / median : 1;
}

Spread ratio_of(const std::vector<double>& numerators, const std::vector<double>& denominators) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(numerators.size(), denominators.size()); ++i)
    if (denominators[i] > 0) ratios.push_back(numerators[i] / denominators[i]);
  return spread_of(std::move(ratios));
}

} // namespace strata::tools
