// SPDX-License-Identifier: BSD-3-Clause
// The table that a user named, as this process read it.
#pragma once

#include "tune/table.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace strata::comm {

class KnownTable {
public:
  struct Found {
    std::optional<tune::Table> table;
    std::string complaint; ///< without a table: why, in a sentence for the user
  };
  /// `path` is the option TABLE. A file is looked at once.
  Found find(const std::string& path);

private:
  std::mutex mutex_;
  std::map<std::string, Found> found_; ///< by path
};

} // namespace strata::comm
