// SPDX-License-Identifier: BSD-3-Clause
// What cores copy and reduce.
#pragma once

namespace strata::tune {

/// Bytes per second of one core's time. 0: not measured.
struct RatesOfCore {
  double copy = 0;   ///< bytes copied
  double reduce = 0; ///< bytes of each operand of a sum of two
};

/// The same of one core while the others rest, and of each core while all are busy.
struct MemoryRates {
  double copy = 0, copy_all = 0;
  double reduce = 0, reduce_all = 0;
  bool operator==(const MemoryRates&) const = default;
};

} // namespace strata::tune
