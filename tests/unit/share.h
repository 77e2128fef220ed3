// SPDX-License-Identifier: BSD-3-Clause
// Of the cases of a long sweep, those that this run makes: all, or one in STRATA_TEST_SHARE where instruments make each
// of them slow. The number should have no divisor in common with the lengths of the sweep's inner loops, so that every
// value of each still comes up.
#pragma once

#include <cstdlib>

namespace strata {

class Share {
public:
  /// Whether the next case is to be run; the first one is.
  bool takes_next() { return next_++ % one_in_ == 0; }

private:
  static unsigned long one_in() {
    const char* const text = std::getenv("STRATA_TEST_SHARE");
    const unsigned long number = text == nullptr ? 1 : std::strtoul(text, nullptr, 10);
    return number == 0 ? 1 : number;
  }

  unsigned long one_in_ = one_in(), next_ = 0;
};

} // namespace strata
