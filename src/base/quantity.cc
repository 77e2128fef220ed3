// SPDX-License-Identifier: BSD-3-Clause
#include "base/quantity.h"

#include "base/text.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>

namespace strata {
namespace {

/// A unit is a power of ten, so that a number with it is one decimal, and reading and writing round at most once; or it
/// is that times a power of two, which is exact.
struct Unit {
  std::string_view name;
  int exponent;
  double factor = 1;
};

/// What is written, ascending.
constexpr Unit rates[] = {{"B/s", 0}, {"kB/s", 3}, {"MB/s", 6}, {"GB/s", 9}, {"TB/s", 12}};
/// What is read: any of these before any of those.
constexpr Unit prefixes[] = {{"", 0},   {"k", 3},          {"K", 3},          {"M", 6},          {"G", 9},
                             {"T", 12}, {"Ki", 0, 0x1p10}, {"Mi", 0, 0x1p20}, {"Gi", 0, 0x1p30}, {"Ti", 0, 0x1p40}};
constexpr Unit rate_units[] = {{"B/s", 0}, {"bit/s", 0, 0.125}};
constexpr Unit no_unit[] = {{"", 0}};
constexpr Unit durations[] = {{"ns", -9}, {"us", -6}, {"ms", -3}, {"s", 0}};

/// `digits`, with at most one point, times 10^exponent.
std::optional<double> decimal(std::string_view digits, int exponent) {
  constexpr std::size_t most_digits = 40;
  if (digits.empty() || digits.size() > most_digits || digits.front() == '.' || digits.back() == '.' ||
      digits.find_first_not_of("0123456789.") != std::string_view::npos || digits.find('.') != digits.rfind('.'))
    return std::nullopt;
  const std::string text = fmt::format("{}e{}", digits, exponent);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> with_unit(std::string_view text, std::span<const Unit> units, std::span<const Unit> before_them) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789."));
  const std::string_view rest = text.substr(digits.size());
  for (const Unit& unit : units)
    for (const Unit& prefix : before_them)
      if (rest.size() == prefix.name.size() + unit.name.size() && rest.starts_with(prefix.name) &&
          rest.ends_with(unit.name))
        if (const auto value = decimal(digits, prefix.exponent + unit.exponent))
          return *value * (prefix.factor * unit.factor);
  return std::nullopt;
}

/// The shortest digits that mean this very double, in the largest unit that leaves a digit before the point.
std::string in_unit(double value, std::span<const Unit> units) {
  if (!std::isfinite(value) || value < 0) return fmt::format("{}", value); // No reader takes it.
  if (value == 0) return fmt::format("0{}", units.front().name);
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  const std::string_view scientific(text, static_cast<std::size_t>(end - text)); // "1.186e+08"
  const std::size_t e = scientific.find('e');
  std::string digits(scientific.substr(0, e));
  std::erase(digits, '.');
  int exponent = 0;
  std::from_chars(text + e + (text[e + 1] == '+' ? 2 : 1), end, exponent);

  const Unit* unit = &units.front();
  for (const Unit& larger : units)
    if (larger.exponent <= exponent) unit = &larger;
  const int before_point = exponent - unit->exponent + 1;
  if (before_point <= 0) {
    digits.insert(0, static_cast<std::size_t>(1 - before_point), '0');
    digits.insert(1, ".");
  } else if (const auto place = static_cast<std::size_t>(before_point); place < digits.size()) {
    digits.insert(place, ".");
  } else {
    digits.append(place - digits.size(), '0');
  }
  return digits.append(unit->name);
}

} // namespace

Result<double> rate_from(std::string_view text) {
  if (const auto value = with_unit(text, rate_units, prefixes)) return *value;
  return argument_error(
      fmt::format("'{}' is no rate (such as 118.6MB/s or 10Gbit/s, with k, M, G, T, Ki, Mi, Gi or Ti before "
                  "B/s or bit/s)",
                  printable(text)));
}

std::string rate_text(double bytes_per_second) { return in_unit(bytes_per_second, rates); }

Result<double> duration_from(std::string_view text) {
  if (const auto value = with_unit(text, durations, no_unit)) return *value;
  return argument_error(fmt::format("'{}' is no time (such as 25us, with ns, us, ms or s)", printable(text)));
}

std::string duration_text(double seconds) { return in_unit(seconds, durations); }

Result<double> factor_from(std::string_view text) {
  if (const auto value = decimal(text, 0)) return *value;
  return argument_error(fmt::format("'{}' is no number (such as 0.25)", printable(text)));
}

std::string factor_text(double factor) { return in_unit(factor, no_unit); }

Result<std::int64_t> time_from(std::string_view text) {
  constexpr std::string_view form = "dddd-dd-ddTdd:dd:ddZ";
  bool fits = text.size() == form.size();
  for (std::size_t i = 0; fits && i < form.size(); ++i)
    fits = form[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
  const auto number = [&](std::size_t begin, std::size_t length) {
    return fits ? static_cast<int>(*parse_number(text.substr(begin, length))) : 0;
  };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  if (!fits || !day.ok() || number(0, 4) < 1970 || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 59)
    return argument_error(fmt::format("'{}' is no time in UTC (such as 2026-11-21T12:00:00Z)", printable(text)));
  return std::int64_t{std::chrono::sys_days(day).time_since_epoch().count()} * 86400 + number(11, 2) * 3600 +
         number(14, 2) * 60 + number(17, 2);
}

std::string time_text(std::int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day day{midnight};
  const std::chrono::hh_mm_ss clock{time - midnight};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

double rounded_measurement(double value) {
  if (!std::isfinite(value)) return value;
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, 3).ptr;
  std::from_chars(text, end, value);
  return value;
}

} // namespace strata
