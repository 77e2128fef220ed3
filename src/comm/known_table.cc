// SPDX-License-Identifier: BSD-3-Clause
#include "comm/known_table.h"

#include "base/text_file.h"

#include <fmt/format.h>

namespace strata::comm {
namespace {

constexpr std::size_t most_file_bytes = std::size_t{1} << 20;

KnownTable::Found from_file(const std::string& path) {
  const auto refused = [&](const std::string& why) {
    return KnownTable::Found{std::nullopt, fmt::format("STRATA_TABLE={} is not used: {}", path, why)};
  };
  const auto text = text_of_file(path, most_file_bytes);
  if (!text) return refused(text.error().message);
  auto table = tune::table_from(*text, path);
  if (!table) return refused(table.error().message);
  return {std::move(*table), {}};
}

} // namespace

KnownTable::Found KnownTable::find(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto known = found_.find(path);
  return known != found_.end() ? known->second : found_.emplace(path, from_file(path)).first->second;
}

} // namespace strata::comm
