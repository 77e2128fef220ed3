// SPDX-License-Identifier: BSD-3-Clause
// Vectors whose reduction is known exactly: small whole numbers, in a pattern over rank and place whose period is a
// prime, so that an element from a wrong place or rank, or one that is counted twice, shows.
#pragma once

#include "type/type.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::tools {

class KnownVectors {
public:
  KnownVectors(type::Element element, type::Operation operation, int ranks);

  /// Writes the vector of `rank`.
  void fill(void* vector, std::size_t elements, int rank) const;
  /// How many elements differ, in any bit, from the reduction over all ranks.
  std::int64_t differences(const void* vector, std::size_t elements) const;

private:
  type::Element element_;
  type::Operation operation_;
  std::vector<std::byte> reduction_; ///< of one period
};

/// Fills a vector with what the operation leaves as it is, so that it can be reduced in place any number of times.
void fill_neutral(void* vector, std::size_t elements, type::Element element, type::Operation operation);

} // namespace strata::tools
