// SPDX-License-Identifier: BSD-3-Clause
#include "comm/vector_in_parts.h"

#include <gtest/gtest.h>

#include <random>

namespace strata::comm {
namespace {

/// Where the pieces of all parts, in order, do not follow each other from the vector's beginning to its end, or one is
/// longer than it may be.
std::string fault_of(std::size_t elements, std::size_t element_bytes, std::size_t ranks, std::size_t most_piece) {
  const std::size_t whole = elements * element_bytes;
  const VectorInParts parts(whole, element_bytes, ranks, most_piece);
  const std::string what = std::to_string(elements) + " elements of " + std::to_string(element_bytes) + " bytes, " +
                           std::to_string(ranks) + " ranks, pieces of " + std::to_string(most_piece) + ": ";
  std::size_t at = 0;
  if (parts.piece() > std::max(most_piece, 64 * element_bytes)) return what + "too long pieces";
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t step = 0; step < parts.steps(); ++step) {
      const std::size_t bytes = parts.bytes_of(rank, step);
      if (bytes > 0 && parts.begin_of(rank, step) != at) return what + "a gap, or twice the same";
      if (bytes > parts.piece() || bytes % element_bytes != 0) return what + "a wrong length";
      at += bytes;
    }
    for (std::size_t step = parts.steps(); step < parts.steps() + 3; ++step)
      if (parts.bytes_of(rank, step) != 0 || parts.begin_of(rank, step) > whole) return what + "more behind its end";
  }
  return at == whole ? "" : what + "not all of it";
}

TEST(VectorInParts, HasEachElementOnce) {
  std::mt19937_64 random(7);
  for (std::size_t run = 0; run < 4000; ++run) {
    const std::size_t element = std::size_t{1} << random() % 6;
    const std::size_t elements = 1 + random() % (std::size_t{1} << random() % 20);
    EXPECT_EQ(fault_of(elements, element, 1 + random() % 40, random() % 40000), "");
  }
  EXPECT_EQ(fault_of(1000, 24, 7, 5000), "") << "elements of an odd length";
}

// No rank has more to reduce than another one, but for what 64 elements make of it.
TEST(VectorInParts, SharesOutEvenly) {
  const VectorInParts parts(1000 * 64 * 4, 4, 3, 8192);
  std::size_t longest = 0;
  for (std::size_t step = 0; step < parts.steps(); ++step)
    longest += parts.bytes_of(0, step);
  EXPECT_EQ(longest, 334U * 64 * 4);
  EXPECT_EQ(parts.steps(), 11U) << "of 31 times 64 elements, where 32 would be one piece more than ten";
  EXPECT_EQ(parts.piece(), 31U * 64 * 4);
}

} // namespace
} // namespace strata::comm
