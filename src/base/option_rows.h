// SPDX-License-Identifier: BSD-3-Clause
// Makers of option rows, one per type of value, each bound to a member of Options. The default is the member's
// initialiser, and the text of what is allowed is made from the limits, so that a row says nothing twice.
#pragma once

#include "base/options.h"
#include "base/text.h"

namespace strata::option_rows {

/// A name and what it stands for: a value of a choice, or the member that a word of a list sets.
template <typename T>
struct Named {
  const char* name;
  T value;
};

/// Whether 0, "let the library choose", is allowed beside the limits.
enum class Zero : bool { refused, allowed };

/// Keeps a text for the rest of the process, exit handlers included: rows hold plain pointers.
const char* kept(std::string text);
/// "auto, always or off" out of the names.
std::string enumerate(std::span<const char* const> names);
std::string limits_text(std::string least, std::string most, Zero zero);
bool within(std::uint64_t value, std::uint64_t least, std::uint64_t most, Zero zero);
bool is_printable(const std::string& value);
/// Splits "a, b" into trimmed words; false when one is empty or comes twice.
bool split_words(const std::string& value, std::vector<std::string>& words);
/// The words joined by commas.
std::string joined(std::span<const std::string> words);

template <const auto& named>
std::string enumerate_names() {
  std::vector<const char*> names;
  for (const auto& row : named)
    names.push_back(row.name);
  return enumerate(names);
}

/// Fills in what follows from the others.
inline OptionRow finished(OptionRow row, std::string allowed) {
  row.allowed = kept(std::move(allowed));
  row.initial = kept(row.get(Options{}));
  return row;
}

/// Bytes with an optional suffix K, M or G.
template <auto member, std::uint64_t least, std::uint64_t most, Zero zero = Zero::refused>
OptionRow bytes(const char* name, const char* text, Scope scope) {
  const auto set = [](Options& options, const std::string& value) {
    const auto parsed = parse_bytes(value);
    if (!parsed || !within(*parsed, least, most, zero)) return false;
    options.*member = *parsed;
    return true;
  };
  const auto get = [](const Options& options) { return format_bytes(options.*member); };
  return finished({name, "", "", text, scope, set, get}, limits_text(format_bytes(least), format_bytes(most), zero));
}

/// A whole number.
template <auto member, std::uint64_t least, std::uint64_t most, Zero zero = Zero::refused>
OptionRow number(const char* name, const char* text, Scope scope) {
  const auto set = [](Options& options, const std::string& value) {
    const auto parsed = parse_number(value);
    if (!parsed || !within(*parsed, least, most, zero)) return false;
    options.*member = *parsed;
    return true;
  };
  const auto get = [](const Options& options) { return std::to_string(options.*member); };
  return finished({name, "", "", text, scope, set, get},
                  limits_text(std::to_string(least), std::to_string(most), zero));
}

/// 0 or 1.
template <auto member>
OptionRow flag(const char* name, const char* text, Scope scope) {
  const auto set = [](Options& options, const std::string& value) {
    if (value != "0" && value != "1") return false;
    options.*member = value == "1";
    return true;
  };
  const auto get = [](const Options& options) { return std::string(options.*member ? "1" : "0"); };
  return finished({name, "", "", text, scope, set, get}, "0 or 1");
}

/// One of the names in `values`, an array of Named<the member's type> in static memory.
template <auto member, const auto& values>
OptionRow choice(const char* name, const char* text, Scope scope) {
  const auto set = [](Options& options, const std::string& value) {
    for (const auto& row : values)
      if (value == row.name) {
        options.*member = row.value;
        return true;
      }
    return false;
  };
  const auto get = [](const Options& options) {
    for (const auto& row : values)
      if (options.*member == row.value) return std::string(row.name);
    return std::string();
  };
  return finished({name, "", "", text, scope, set, get}, enumerate_names<values>());
}

/// "none", or some of the names in `topics`, an array of Named<bool Options::*>; each switches its member on.
template <const auto& topics>
OptionRow switches(const char* name, const char* text, Scope scope) {
  const auto set = [](Options& options, const std::string& value) {
    std::vector<std::string> words;
    if (!split_words(value, words)) return false;
    if (words.size() == 1 && words[0] == "none") words.clear();
    Options changed = options;
    for (const auto& topic : topics)
      changed.*topic.value = false;
    for (const std::string& word : words) {
      bool known = false;
      for (const auto& topic : topics)
        if (word == topic.name) changed.*topic.value = known = true;
      if (!known) return false;
    }
    options = changed;
    return true;
  };
  const auto get = [](const Options& options) {
    std::vector<std::string> words;
    for (const auto& topic : topics)
      if (options.*topic.value) words.emplace_back(topic.name);
    return words.empty() ? std::string("none") : joined(words);
  };
  return finished({name, "", "", text, scope, set, get}, "none, or a list of: " + enumerate_names<topics>());
}

/// Some of `names` (an array of const char* in static memory), at least one, each at most once, order kept.
template <auto member, const auto& names>
OptionRow list(const char* name, const char* text, Scope scope) {
  const auto set = [](Options& options, const std::string& value) {
    std::vector<std::string> words;
    if (!split_words(value, words)) return false;
    for (const std::string& word : words) {
      bool known = false;
      for (const char* allowed : names)
        known = known || word == allowed;
      if (!known) return false;
    }
    options.*member = joined(words);
    return true;
  };
  const auto get = [](const Options& options) { return options.*member; };
  return finished({name, "", "", text, scope, set, get}, "a list of: " + enumerate(names));
}

/// Free text in printable characters; whoever reads it checks it.
template <auto member>
OptionRow text(const char* name, const char* allowed, const char* sentence, Scope scope) {
  const auto set = [](Options& options, const std::string& value) {
    if (!is_printable(value)) return false;
    options.*member = value;
    return true;
  };
  const auto get = [](const Options& options) { return options.*member; };
  return finished({name, "", "", sentence, scope, set, get}, allowed);
}

} // namespace strata::option_rows
