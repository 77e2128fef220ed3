// SPDX-License-Identifier: BSD-3-Clause
#include "tools/tune.h"

#include "base/options.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata::tools {
namespace {

/// Two ways whose times are this close are as good as each other; two runs of one way differ by more.
constexpr double noise = 1.03;
constexpr std::size_t most_in_remarks = 2;

/// The ways of a size, the fastest first.
std::vector<MeasuredWay> sorted(std::vector<MeasuredWay> ways) {
  std::stable_sort(ways.begin(), ways.end(),
                   [](const MeasuredWay& a, const MeasuredWay& b) { return a.seconds < b.seconds; });
  return ways;
}

/// `ways` are sorted; `before` is the way of the size before, or null.
const tune::Way& winner(const std::vector<MeasuredWay>& ways, const tune::Way* before) {
  const auto good_enough = [&](const auto& is_it) {
    return std::find_if(ways.begin(), ways.end(), [&](const MeasuredWay& one) {
      return one.seconds <= noise * ways.front().seconds && is_it(one.way);
    });
  };
  if (before != nullptr)
    if (const auto same = good_enough([&](const tune::Way& way) { return way == *before; }); same != ways.end())
      return same->way;
  const auto native = good_enough([](const tune::Way& way) { return way == tune::Way{}; });
  return native != ways.end() ? native->way : ways.front().way;
}

/// Of less than a microsecond, as many digits as tell times apart that differ by a hundredth of it.
std::string text_of_time(double seconds) {
  return seconds < 1e-6 ? fmt::format("{:.4f} us", seconds * 1e6) : format_duration(seconds);
}

/// A line for each of the fastest ways, and for the MPI library's own.
void add_remarks(std::vector<std::string>& remarks, std::uint64_t bytes, const std::vector<MeasuredWay>& ways,
                 Remarks wanted) {
  for (std::size_t place = 0; place < ways.size(); ++place) {
    if (wanted == Remarks::fastest && place >= most_in_remarks && ways[place].way != tune::Way{}) continue;
    remarks.push_back(fmt::format("  {:<7} {:>9} {}", place == 0 ? format_bytes(bytes) : std::string(),
                                  text_of_time(ways[place].seconds), to_text(ways[place].way)));
  }
}

/// Likewise, of those that did not come to the final.
void add_brief_remarks(std::vector<std::string>& remarks, const std::vector<MeasuredWay>& ways) {
  for (const MeasuredWay& one : ways)
    remarks.push_back(fmt::format("  briefly {:>9} {}", text_of_time(one.seconds), to_text(one.way)));
}

/// What strata chose by itself, and how good that was.
std::string remark_of(const OwnChoice& own) {
  return fmt::format("  by itself {}, {:.2f} of the best: {}", text_of_time(own.seconds),
                     own.best.seconds / own.forced_seconds.value_or(own.seconds),
                     own.way ? to_text(*own.way) : "still trying");
}

/// The last size of a row: half way to the next, at the begin of a class of sizes, which counts for all of it.
std::uint64_t end_between(std::uint64_t bytes, std::uint64_t next) {
  const double middle = std::sqrt(static_cast<double>(bytes) * static_cast<double>(next));
  const auto end = tune::bounds_of_class(tune::size_class(static_cast<std::size_t>(middle))).first;
  return std::max<std::uint64_t>(bytes, end);
}

} // namespace

tune::Table table_of(const tune::MachineShape& machine, const std::vector<MeasuredSize>& sizes, Remarks wanted) {
  tune::Table table{machine, {}};
  for (const MeasuredSize& size : sizes) {
    if (size.ways.empty()) continue;
    const std::vector<MeasuredWay> ways = sorted(size.ways);
    tune::TableRow* const before = table.rows.empty() ? nullptr : &table.rows.back();
    const tune::Way& way = winner(ways, before != nullptr ? &before->way : nullptr);
    if (before == nullptr || before->way != way) {
      if (before != nullptr) before->up_to = end_between(before->up_to, size.bytes);
      table.rows.push_back({size.bytes, way, 0, {}});
    }
    table.rows.back().up_to = size.bytes;
    add_remarks(table.rows.back().remarks, size.bytes, ways, wanted);
    if (wanted == Remarks::all) add_brief_remarks(table.rows.back().remarks, sorted(size.briefly));
    if (size.own) table.rows.back().remarks.push_back(remark_of(*size.own));
  }
  return table;
}

} // namespace strata::tools
