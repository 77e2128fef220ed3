// SPDX-License-Identifier: BSD-3-Clause
// How ranks share out a long vector: a part for each, in pieces.
#pragma once

#include "base/rounding.h"

#include <algorithm>
#include <cstddef>

namespace strata::comm {

/// Part r is rank r's to reduce, and goes in `steps()` pieces, one of every part at a time. Parts are as long as each
/// other, but the last ones are shorter, or empty, where the vector is; so are the last pieces of each. All begin with
/// an element, 64 of them after another one, so that what is a line apart in the vector is so in every piece.
/// All in bytes. A value; any thread.
class VectorInParts {
public:
  /// A vector of `whole` > 0 bytes among `ranks` >= 1; of each part at most `most_piece` bytes at a time, or 64
  /// elements.
  VectorInParts(std::size_t whole, std::size_t element_bytes, std::size_t ranks, std::size_t most_piece)
      : whole_(whole) {
    const std::size_t unit = 64 * element_bytes;
    part_ = rounded_up(quotient(whole, ranks), unit);
    piece_ = rounded_up(quotient(part_, quotient(part_, std::max(most_piece / unit * unit, unit))), unit);
  }

  std::size_t steps() const { return quotient(part_, piece_); }
  /// Of the longest piece.
  std::size_t piece() const { return piece_; }
  /// Where in the vector a piece begins, which may be its end.
  std::size_t begin_of(std::size_t rank, std::size_t step) const {
    return std::min(whole_, rank * part_ + std::min(part_, step * piece_));
  }
  /// Of a piece; none behind the last step.
  std::size_t bytes_of(std::size_t rank, std::size_t step) const {
    return begin_of(rank, step + 1) - begin_of(rank, step);
  }

private:
  static std::size_t quotient(std::size_t whole, std::size_t part) { return (whole + part - 1) / part; }

  std::size_t whole_, part_ = 0, piece_ = 0;
};

} // namespace strata::comm
