// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"

#include <string>

namespace strata {

/// Why work that goes on in small steps ended: the first error that was met.
class FirstFailure {
public:
  /// False when there is a failure by now.
  bool keep(const Status& status) {
    if (!status && why_.empty()) why_ = status.error().message;
    return why_.empty();
  }
  /// What failed was no more than tried.
  void forget() { why_.clear(); }
  /// Empty: all is well.
  const std::string& why() const { return why_; }

private:
  std::string why_;
};

} // namespace strata
