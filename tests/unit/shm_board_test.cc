// SPDX-License-Identifier: BSD-3-Clause
// The latency path's memory: what is written is read, and who has which place in its pages.
#include "transport/shm/parity_board.h"

#include <gtest/gtest.h>

#include <set>

namespace strata::transport::shm {
namespace {

constexpr std::size_t page_bytes = 4096, most_bytes = 8192, gap_bytes = 2048;
constexpr std::size_t narrow = 56, widest_in_two_lines = 120, widest_in_slot = 256;

/// Of one process, which plays all ranks, each with a segment of a megabyte. By rank: `shares_core`, and `ring_bytes`,
/// which are 0 where not given.
class ParityBoards {
public:
  explicit ParityBoards(const std::vector<bool>& shares_core, std::vector<std::size_t> ring_bytes = {}) {
    ring_bytes.resize(shares_core.size());
    std::vector<PeerAddress> addresses;
    for (std::uint64_t rank = 0; rank < shares_core.size(); ++rank) {
      transports_.push_back(std::move(*ShmTransport::create(Backing::memfd, std::size_t{1} << 20)));
      addresses.push_back({rank + 1, transports_.back()->address()});
    }
    std::vector<std::uint64_t> announcements;
    const std::vector<bool> members(shares_core.size(), true);
    for (std::size_t rank = 0; rank < shares_core.size(); ++rank) {
      links_.push_back(
          std::move(*transports_[rank]->link_neighbours(addresses, static_cast<std::int32_t>(rank), members)));
      boards.push_back(std::move(
          *ParityBoard::prepare(links_.back()->neighbours(), most_bytes, ring_bytes[rank], shares_core[rank])));
      announcements.push_back(boards.back()->announcement());
    }
    for (const auto& board : boards)
      EXPECT_TRUE(board->connect(announcements));
  }

  /// Where the ranks write in the next exchange, in their pages.
  std::vector<std::size_t> places(std::size_t bytes) const {
    std::vector<std::size_t> all;
    for (const auto& board : boards)
      all.push_back(reinterpret_cast<std::uintptr_t>(board->begin(bytes)) % page_bytes);
    return all;
  }

private:
  std::vector<std::unique_ptr<ShmTransport>> transports_;
  std::vector<std::unique_ptr<ShmLinks>> links_;

public:
  std::vector<std::unique_ptr<ParityBoard>> boards;
};

std::size_t different(const std::vector<std::size_t>& places) { return std::set(places.begin(), places.end()).size(); }

/// A byte for each rank, exchange and place, so that nothing of another exchange passes for it.
std::byte content(std::size_t rank, std::size_t exchange, std::size_t i) {
  return static_cast<std::byte>(rank * 31 + exchange * 7 + i);
}

TEST(ParityBoard, BringsEachRanksPayloadToAll) {
  for (const std::vector<bool>& shares : {std::vector{false, false, false}, {true, true, true}, {true, false, true}}) {
    const ParityBoards all(shares, {8 * most_bytes, 0, 16 * most_bytes});
    std::size_t exchange = 0;
    for (int turn = 0; turn < 3; ++turn)
      for (const std::size_t bytes :
           {std::size_t{8}, narrow, narrow + 1, widest_in_two_lines, widest_in_two_lines + 1, widest_in_slot,
            widest_in_slot + 1, std::size_t{1000}, most_bytes, std::size_t{1}}) {
        ++exchange;
        for (std::size_t rank = 0; rank < shares.size(); ++rank) {
          auto* place = static_cast<std::byte*>(all.boards[rank]->begin(bytes));
          for (std::size_t i = 0; i < bytes; ++i)
            place[i] = content(rank, exchange, i);
        }
        EXPECT_EQ(all.boards[0]->arrived(1, bytes), nullptr) << "not published yet";
        if (ParityBoard::is_wide(bytes)) {
          EXPECT_EQ(all.boards[0]->arrived_in(all.boards[0]->slot_of(1, bytes), bytes), nullptr);
        }
        for (const auto& board : all.boards)
          board->publish(bytes);
        for (const auto& board : all.boards) {
          for (std::size_t rank = 0; rank < shares.size(); ++rank) {
            const auto* payload = static_cast<const std::byte*>(board->arrived(rank, bytes));
            ASSERT_NE(payload, nullptr) << bytes << " bytes of rank " << rank;
            if (ParityBoard::is_wide(bytes)) {
              EXPECT_EQ(board->arrived_in(board->slot_of(rank, bytes), bytes), payload);
            }
            for (std::size_t i = 0; i < bytes; ++i)
              ASSERT_EQ(payload[i], content(rank, exchange, i))
                  << "byte " << i << " of " << bytes << " of rank " << rank;
          }
          board->take_back_next(bytes);
        }
      }
  }
}

// Among payloads of one exchange each. What may still be read when a place is written again is there then.
TEST(ParityBoard, BringsPayloadsThatArePublishedAhead) {
  const ParityBoards all({false, false}, {8 * most_bytes, 8 * most_bytes});
  const auto write = [&](std::size_t rank, std::size_t exchange, void* place, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      static_cast<std::byte*>(place)[i] = content(rank, exchange, i);
  };
  const auto expect_all = [&](std::size_t reader, std::size_t exchange, std::size_t bytes) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const auto* payload = static_cast<const std::byte*>(all.boards[reader]->arrived(rank, bytes));
      ASSERT_NE(payload, nullptr) << "of exchange " << exchange;
      for (std::size_t i = 0; i < bytes; ++i)
        ASSERT_EQ(payload[i], content(rank, exchange, i)) << "byte " << i << " of exchange " << exchange;
    }
  };
  std::size_t exchange = 0;
  for (const std::size_t used : {8 * most_bytes, ParityBoard::least_places_ahead * most_bytes}) {
    for (const auto& board : all.boards)
      board->use_ring(used);
    for (const std::size_t pieces : {2U, 3U, 40U}) {
      ++exchange;
      const std::size_t alone = exchange % 2 == 0 ? narrow + 1 : narrow;
      for (std::size_t rank = 0; rank < 2; ++rank) {
        write(rank, exchange, all.boards[rank]->begin(alone), alone);
        all.boards[rank]->publish(alone);
      }
      for (std::size_t rank = 0; rank < 2; ++rank)
        expect_all(rank, exchange, alone);
      const auto bytes_of = [&](std::size_t piece) {
        return piece + 1 == pieces ? ParityBoard::least_ahead : most_bytes - piece % 3 * 2000;
      };
      const std::size_t first = exchange + 1;
      ParityBoard::Ahead ahead[] = {ParityBoard::Ahead(*all.boards[0]), ParityBoard::Ahead(*all.boards[1])};
      const auto publish = [&](std::size_t rank, std::size_t piece) {
        if (piece >= pieces) return;
        write(rank, first + piece, ahead[rank].begin(bytes_of(piece)), bytes_of(piece));
        ahead[rank].publish(bytes_of(piece));
      };
      for (std::size_t rank = 0; rank < 2; ++rank) {
        publish(rank, 0);
        publish(rank, 1);
      }
      for (std::size_t piece = 0; piece < pieces; ++piece, ++exchange) {
        // Rank 0 completes the exchange, and publishes as far ahead as it may, before rank 1 looks.
        for (std::size_t rank = 0; rank < 2; ++rank) {
          all.boards[rank]->begin(bytes_of(piece));
          expect_all(rank, first + piece, bytes_of(piece));
          publish(rank, piece + 2);
        }
      }
    }
  }
}

// Lines at the same place in the pages of several ranks put each other out of a core's first cache.
TEST(ParityBoard, GivesEachRankAPlaceOfItsOwn) {
  const ParityBoards all(std::vector<bool>(16, false));
  for (int parity = 0; parity < 2; ++parity)
    for (const std::size_t bytes :
         {narrow + 1, widest_in_two_lines, widest_in_two_lines + 1, widest_in_slot, widest_in_slot + 1, most_bytes})
      EXPECT_EQ(different(all.places(bytes)), 16U) << bytes << " bytes";
}

// There it is the faster one, where ranks look for numbers all the time.
TEST(ParityBoard, HasNarrowPayloadsAtOnePlaceWhereNobodySharesACore) {
  const std::size_t bytes = 8;
  const ParityBoards roomy(std::vector<bool>(16, false)), crowded(std::vector<bool>(16, true));
  for (int parity = 0; parity < 2; ++parity) {
    EXPECT_EQ(different(roomy.places(bytes)), 1U);
    EXPECT_EQ(different(crowded.places(bytes)), 16U);
  }
}

TEST(ParityBoard, TellsWhichProcessorsPeersAreOn) {
  const ParityBoards all({true, true, false});
  EXPECT_EQ(all.boards[0]->cpu_of(1), -1) << "nobody has waited yet";
  for (std::size_t rank = 0; rank < 3; ++rank)
    all.boards[rank]->is_seen_on(static_cast<std::int32_t>(7 + rank));
  EXPECT_EQ(all.boards[0]->cpu_of(1), 8);
  EXPECT_EQ(all.boards[0]->cpu_of(2), 9);
  EXPECT_EQ(all.boards[2]->cpu_of(0), 7);
  EXPECT_EQ(all.boards[2]->cpu_of(2), -1) << "its own, which nobody waits for";
}

// Who reads a place must look for it where its owner wrote it.
TEST(ParityBoard, HasRingsAsLongAsTheShortest) {
  for (const auto& [ring_bytes, agreed] : {std::pair{std::vector<std::size_t>{0, 0}, 4 * most_bytes},
                                           {{8 * most_bytes, 8 * most_bytes}, 8 * most_bytes},
                                           {{16 * most_bytes - 1, 8 * most_bytes}, 8 * most_bytes},
                                           {{8 * most_bytes, 4 * most_bytes + 1}, 4 * most_bytes}}) {
    const ParityBoards all({false, false}, ring_bytes);
    for (const auto& board : all.boards)
      EXPECT_EQ(board->ring_bytes(), agreed);
    std::set<std::size_t> places;
    for (std::size_t exchange = 0; exchange < 2 * agreed / most_bytes; ++exchange)
      places.insert(reinterpret_cast<std::uintptr_t>(all.boards[0]->begin(most_bytes)));
    EXPECT_EQ(places.size(), agreed / most_bytes);
    EXPECT_EQ(*places.rbegin() - *places.begin(), (agreed / most_bytes - 1) * (most_bytes + gap_bytes));
  }
}

// Until it is told otherwise, and no fewer than four of the largest payloads: fewer could overlap with what peers read.
TEST(ParityBoard, UsesPartOfARing) {
  const ParityBoards all({false}, {8 * most_bytes});
  ParityBoard& board = *all.boards[0];
  for (const auto& [bytes, used] :
       {std::pair{6 * most_bytes, std::size_t{6}}, {7 * most_bytes - 1, 6}, {0, 4}, {64 * most_bytes, 8}}) {
    board.use_ring(bytes);
    std::set<std::uintptr_t> places;
    std::uintptr_t last = 0;
    for (std::size_t exchange = 0; exchange < 32; ++exchange) {
      const auto place = reinterpret_cast<std::uintptr_t>(board.begin(most_bytes));
      EXPECT_GE(std::max(place, last) - std::min(place, last), most_bytes + gap_bytes);
      if (exchange >= 8) places.insert(place);
      last = place;
    }
    EXPECT_EQ(places.size(), used) << bytes << " bytes";
  }
}

// What a processor fetches ahead, of a page, is not to be what a peer writes next.
TEST(ParityBoard, LeavesAGapBehindEachPlace) {
  const ParityBoards all({false, false}, {8 * most_bytes, 8 * most_bytes});
  std::size_t wraps = 0;
  std::uintptr_t behind = 0;
  for (const std::size_t bytes :
       {widest_in_slot + 1, std::size_t{1000}, std::size_t{2048}, most_bytes, std::size_t{512}, most_bytes, most_bytes,
        most_bytes, most_bytes, most_bytes, most_bytes, most_bytes}) {
    const auto place = reinterpret_cast<std::uintptr_t>(all.boards[0]->begin(bytes));
    if (place < behind) {
      ++wraps;
    } else if (behind != 0) {
      EXPECT_GE(place - behind, gap_bytes) << bytes << " bytes";
    }
    behind = place + bytes;
  }
  EXPECT_EQ(wraps, 1U);
}

TEST(ParityBoard, HasALongRingOnlyWhereMuchOfTheSegmentIsLeft) {
  EXPECT_EQ(ParityBoards({false, false}, {12 * most_bytes, 12 * most_bytes}).boards[0]->ring_bytes(), 8 * most_bytes);
  EXPECT_EQ(ParityBoards({false, false}, {16 * most_bytes, 16 * most_bytes}).boards[0]->ring_bytes(), 4 * most_bytes)
      << "with its slots more than an eighth of a megabyte";
}

TEST(ParityBoard, RefusesSlotsOutsideASegment) {
  const ParityBoards all({false, false});
  auto transport = std::move(*ShmTransport::create(Backing::memfd, std::size_t{1} << 20));
  const std::vector<PeerAddress> addresses{{1, transport->address()}};
  const auto links = std::move(*transport->link_neighbours(addresses, 0, {true}));
  const auto board = std::move(*ParityBoard::prepare(links->neighbours(), most_bytes, 0, false));
  const std::uint64_t outside[] = {board->announcement() + (std::size_t{1} << 20)};
  EXPECT_FALSE(board->connect(outside));
  const std::uint64_t without_a_ring[] = {4096};
  EXPECT_FALSE(board->connect(without_a_ring));
}

} // namespace
} // namespace strata::transport::shm
