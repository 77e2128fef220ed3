// SPDX-License-Identifier: BSD-3-Clause
#include "tune/board.h"

#include <gtest/gtest.h>

namespace strata::tune {
namespace {

constexpr std::size_t ring_mebibyte = std::size_t{1} << 20;

TEST(Board, HasRingsThatLeaveNoLineInACoresOwnCache) {
  EXPECT_EQ(board_ring_bytes(2, ring_mebibyte), 2 * ring_mebibyte);
  EXPECT_EQ(board_ring_bytes(8, ring_mebibyte), ring_mebibyte / 2);
  EXPECT_EQ(board_ring_bytes(2, 16 * ring_mebibyte), 4 * ring_mebibyte) << "no more than that";
  EXPECT_EQ(board_ring_bytes(2, 0), 0U) << "a cache that others may use as well";
}

// All of it until a vector and its result fill the cache themselves; then what fills it together with them.
TEST(Board, UsesLessOfARingForLongVectors) {
  EXPECT_EQ(board_ring_in_use(2, 2 * ring_mebibyte, ring_mebibyte / 2 - 4), 2 * ring_mebibyte);
  EXPECT_EQ(board_ring_in_use(2, 2 * ring_mebibyte, ring_mebibyte / 2), 5 * ring_mebibyte / 4);
  EXPECT_EQ(board_ring_in_use(2, 2 * ring_mebibyte, 64 * ring_mebibyte), 5 * ring_mebibyte / 4);
}

TEST(Board, HasLongerPiecesOfPartsInLongerVectors) {
  EXPECT_EQ(board_piece_of_parts(2, 2 * ring_mebibyte, ring_mebibyte / 16 + 4, false), ring_mebibyte / 64)
      << "no less than that";
  EXPECT_EQ(board_piece_of_parts(2, 2 * ring_mebibyte, ring_mebibyte / 2, false), ring_mebibyte / 16)
      << "a quarter at once";
  EXPECT_EQ(board_piece_of_parts(2, 2 * ring_mebibyte, 64 * ring_mebibyte, false), ring_mebibyte / 8)
      << "an eighth of the ring";
  EXPECT_EQ(board_piece_of_parts(4, ring_mebibyte, ring_mebibyte / 16 + 4, true), ring_mebibyte / 32)
      << "where ranks share cores";
}

TEST(Board, HasNoPartsAmongSoManyRanksThatPiecesWouldBeShort) {
  EXPECT_GT(board_piece_of_parts(16, ring_mebibyte / 4, ring_mebibyte, true), 0U);
  EXPECT_EQ(board_piece_of_parts(64, ring_mebibyte / 8, ring_mebibyte, true), 0U);
}

// transport/shm/parity_board.h: what is in use has room for five of the longest payload.
TEST(Board, HasRoomInItsRingForWhatIsPublishedAhead) {
  for (std::int32_t ranks = 2; ranks <= 64; ++ranks)
    for (std::size_t ring = 4 * board_piece_bytes(ranks); ring <= 4 * ring_mebibyte; ring *= 2)
      for (std::size_t bytes = board_piece_bytes(ranks) + 4; bytes < 256 * ring_mebibyte; bytes *= 2)
        for (const bool crowded : {false, true}) {
          const std::size_t piece = board_piece_of_parts(ranks, ring, bytes, crowded);
          const std::size_t in_use = crowded ? ring : board_ring_in_use(ranks, ring, bytes);
          EXPECT_LE(5 * piece * static_cast<std::size_t>(ranks), std::max(in_use, 4 * board_piece_bytes(ranks)));
        }
}

} // namespace
} // namespace strata::tune
