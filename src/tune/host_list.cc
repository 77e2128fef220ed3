// SPDX-License-Identifier: BSD-3-Clause
#include "tune/host_list.h"

#include "base/number_runs.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace strata::tune {
namespace {

constexpr std::size_t longest_name = 255;
constexpr std::size_t most_digits = 18; ///< of a number that fits into 64 bits

bool is_digits(std::string_view text) {
  return !text.empty() && text.size() <= most_digits && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Characters of all names of one item: a line of some letters must not fill the memory.
constexpr std::size_t most_letters = std::size_t{8} << 20;

Error too_many(std::size_t most) { return argument_error(fmt::format("there are more than {} hosts", most)); }

/// What stands between brackets: "1-4,7" or "08-10".
Result<std::vector<std::string>> choices_of(std::string_view inside, std::size_t most) {
  std::vector<std::string> choices;
  for (const std::string_view part : split(inside, ',')) {
    const std::size_t dash = part.find('-');
    const std::string_view first = part.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : part.substr(dash + 1);
    if (!is_digits(first) || !is_digits(last) || *parse_number(first) > *parse_number(last))
      return argument_error(
          fmt::format("'{}' in brackets is no number or ascending range (such as 7 or 1-4)", printable(part)));
    const std::uint64_t begin = *parse_number(first), end = *parse_number(last);
    if (end - begin >= most - choices.size()) return too_many(most_hosts);
    for (std::uint64_t number = begin; number <= end; ++number)
      choices.push_back(fmt::format("{:0{}}", number, first.size()));
  }
  return choices;
}

/// The names of one item, "rack[1-2]n[01-16]": all combinations, the last bracket running fastest.
Result<std::vector<std::string>> names_of(std::string_view item, std::size_t most) {
  std::vector<std::string> names{""};
  std::size_t length = 0; // Bounded before anything is multiplied.
  for (std::string_view rest = item; !rest.empty();) {
    const std::size_t open = std::min(rest.find('['), rest.size());
    std::vector<std::string> choices{std::string(rest.substr(0, std::min(open, longest_name + 1)))};
    rest.remove_prefix(open);
    if (open == 0) {
      const std::size_t close = rest.find(']');
      if (close == std::string_view::npos)
        return argument_error(fmt::format("'{}' has a bracket that is not closed", printable(item)));
      auto inside = choices_of(rest.substr(1, close - 1), most / names.size());
      if (!inside) return inside.error();
      choices = std::move(*inside);
      rest.remove_prefix(close + 1);
    }
    length += std::max_element(choices.begin(), choices.end(), [](const std::string& one, const std::string& other) {
                return one.size() < other.size();
              })->size();
    if (length > longest_name) return argument_error(fmt::format("'{}' is too long for a host name", printable(item)));
    if (names.size() * choices.size() * length > most_letters)
      return argument_error(
          fmt::format("'{}' stands for names of more than {} letters in all", printable(item), most_letters));
    std::vector<std::string> longer;
    longer.reserve(names.size() * choices.size());
    for (const std::string& name : names)
      for (const std::string& choice : choices)
        longer.push_back(name + choice);
    names = std::move(longer);
  }
  for (const std::string& name : names)
    if (!is_host_name(name))
      return argument_error(fmt::format(
          "'{}' is no host name (letters, digits, '-', '_' and '.', and ranges in brackets)", printable(name)));
  return names;
}

/// A name around its number. Equal but for the number means one bracket.
struct Pattern {
  std::string_view prefix, suffix;
  std::size_t width = 0; ///< of zero-padded numbers; 0: written without leading zeros
  bool operator<(const Pattern& other) const {
    return std::tie(prefix, suffix, width) < std::tie(other.prefix, other.suffix, other.width);
  }
};

/// Where the number of a name stands; an empty view when it has none.
std::string_view number_in(std::string_view name) {
  const std::string_view part = name.substr(0, name.find('.'));
  const std::size_t last = part.find_last_of("0123456789");
  if (last == std::string_view::npos) return {};
  const std::size_t before = part.find_last_not_of("0123456789", last);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::string_view digits = part.substr(begin, last + 1 - begin);
  return digits.size() <= most_digits ? digits : std::string_view{};
}

Pattern around(std::string_view name, std::string_view digits, std::size_t width) {
  const auto begin = static_cast<std::size_t>(digits.data() - name.data());
  return {name.substr(0, begin), name.substr(begin + digits.size()), width};
}

bool is_padded(std::string_view digits) { return digits.size() > 1 && digits.front() == '0'; }

std::string item_of(const Pattern& pattern, std::vector<std::uint64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  const std::size_t width = std::max<std::size_t>(1, pattern.width);
  std::string inside;
  for (const auto [first, last] : runs_of(std::span<const std::uint64_t>(numbers))) {
    inside += fmt::format("{}{:0{}}", inside.empty() ? "" : ",", first, width);
    if (last > first) inside += fmt::format("-{:0{}}", last, width);
  }
  return fmt::format(fmt::runtime(numbers.size() == 1 ? "{}{}{}" : "{}[{}]{}"), pattern.prefix, inside, pattern.suffix);
}

} // namespace

bool is_host_name(std::string_view text) {
  return !text.empty() && text.size() <= longest_name && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

Result<std::vector<std::string>> hosts_of(std::string_view list, std::size_t most) {
  std::vector<std::string> hosts;
  for (std::size_t begin = 0; begin <= list.size();) {
    std::size_t end = begin;
    for (bool inside = false; end < list.size() && (inside || list[end] != ','); ++end)
      inside = list[end] == '[' || (inside && list[end] != ']');
    auto names = names_of(list.substr(begin, end - begin), most - hosts.size());
    if (!names) return names.error();
    if (names->size() > most - hosts.size()) return too_many(most_hosts);
    hosts.insert(hosts.end(), names->begin(), names->end());
    begin = end + 1;
  }
  return hosts;
}

std::vector<std::string> host_items(std::span<const std::string> hosts) {
  std::set<Pattern> padded; // With zeros in front of some number.
  for (const std::string& host : hosts)
    if (const auto digits = number_in(host); is_padded(digits)) padded.insert(around(host, digits, digits.size()));

  struct Item {
    Pattern pattern;
    std::vector<std::uint64_t> numbers; ///< none: the host is the pattern's prefix
  };
  std::vector<Item> items;
  std::map<Pattern, std::size_t> item_with;
  for (const std::string& host : hosts) {
    const std::string_view digits = number_in(host);
    if (digits.empty()) {
      items.push_back({Pattern{host, {}}, {}});
      continue;
    }
    Pattern pattern = around(host, digits, digits.size());
    if (!padded.contains(pattern)) pattern.width = 0;
    const auto [place, is_new] = item_with.try_emplace(pattern, items.size());
    if (is_new) items.push_back({pattern, {}});
    items[place->second].numbers.push_back(*parse_number(digits));
  }
  std::vector<std::string> texts;
  for (Item& item : items)
    texts.push_back(item.numbers.empty() ? std::string(item.pattern.prefix) : item_of(item.pattern, item.numbers));
  return texts;
}

} // namespace strata::tune
