// SPDX-License-Identifier: BSD-3-Clause
#include "base/number_runs.h"

#include <fmt/format.h>

namespace strata {

std::string number_list(std::span<const std::int32_t> numbers) {
  std::string text;
  for (const auto [first, last] : runs_of(numbers)) {
    const char between = last - first >= 2 ? '-' : ',';
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (last > first) text += fmt::format("{}{}", between, last);
  }
  return text;
}

} // namespace strata
