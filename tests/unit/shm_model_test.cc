// SPDX-License-Identifier: BSD-3-Clause
// The two protocols of shared memory, as small programs, in every order that the memory model allows: the parity slots
// of the latency path (parity_board.h) and the slots of a channel (shm_channel.h). What the code relies on is taken
// away piece by piece, and each time the exploration must find what goes wrong.
#include "memory_model.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata::memory_model {
namespace {

struct BoardVariant {
  int slots = 2;
  int places = 2; ///< of payloads: the slots themselves, or a ring beside them
  int ahead = 1;  ///< a rank publishes n once it has completed n - ahead, where `alone` has no exchange n
  /// Exchanges that are published when the one before is complete: those of vectors in one piece, and first pieces.
  std::vector<int> alone;
  std::vector<int> in_slots; ///< exchanges whose payloads are not in the ring, but beside the numbers
  bool release = true;
  bool acquire = true;
  bool payload_first = true;
  bool reads_in_its_own_exchange = true; ///< else a rank publishes its next number before it reads
  bool takes_later_numbers = true;       ///< else a rank waits for the very number
};

bool has(const std::vector<int>& exchanges, int n) {
  return std::find(exchanges.begin(), exchanges.end(), n) != exchanges.end();
}

int locations_of_rank(const BoardVariant& variant) { return 2 * variant.slots + variant.places; }

/// Exchanges 1 to `exchanges` among `ranks`. A rank's locations are its slots' numbers, what is beside these, and its
/// ring.
std::vector<Thread> board(int ranks, int exchanges, const BoardVariant& variant) {
  const auto number = [&](int rank, int n) { return rank * locations_of_rank(variant) + n % variant.slots; };
  const auto payload = [&](int rank, int n) {
    const int first = rank * locations_of_rank(variant) + variant.slots;
    return has(variant.in_slots, n) ? first + n % variant.slots : first + variant.slots + n % variant.places;
  };
  std::vector<Thread> threads(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    Thread& thread = threads[static_cast<std::size_t>(rank)];
    const auto read_all = [&](int n) {
      for (int peer = 0; peer < ranks; ++peer)
        if (peer != rank) thread.push_back({Kind::plain_read, payload(peer, n), n});
    };
    const auto publish = [&](int n) {
      if (variant.payload_first) thread.push_back({Kind::plain_write, payload(rank, n), n});
      thread.push_back({Kind::store, number(rank, n), n, variant.release});
      if (!variant.payload_first) thread.push_back({Kind::plain_write, payload(rank, n), n});
    };
    int published = 0;
    for (int n = 1; n <= exchanges; ++n) {
      while (published < exchanges && published + 1 - (has(variant.alone, published + 1) ? 1 : variant.ahead) < n)
        publish(++published);
      if (!variant.reads_in_its_own_exchange && n > 1) read_all(n - 1);
      const Kind kind = variant.takes_later_numbers ? Kind::await_least : Kind::await_equal;
      for (int peer = 0; peer < ranks; ++peer)
        if (peer != rank) thread.push_back({kind, number(peer, n), n, variant.acquire});
      if (variant.reads_in_its_own_exchange) read_all(n);
    }
  }
  return threads;
}

std::string fault_of_board(int ranks, int exchanges, const BoardVariant& variant) {
  return Exploration(board(ranks, exchanges, variant), ranks * locations_of_rank(variant)).fault();
}

TEST(ParityBoardModel, IsRightForTwoAndThreeRanksInEveryOrder) {
  const Exploration of_two(board(2, 6, {}), 12);
  EXPECT_EQ(of_two.fault(), "");
  EXPECT_GT(of_two.states(), 50u);
  const Exploration of_three(board(3, 4, {}), 18);
  EXPECT_EQ(of_three.fault(), "");
  EXPECT_GT(of_three.states(), 500u);
}

TEST(ParityBoardModel, IsRightWithARingOfPayloads) {
  BoardVariant variant;
  variant.places = 4;
  EXPECT_EQ(fault_of_board(2, 6, variant), "");
  EXPECT_EQ(fault_of_board(3, 4, variant), "");
}

TEST(ParityBoardModel, NeedsConsecutivePayloadsApart) {
  BoardVariant variant;
  variant.places = 1;
  EXPECT_NE(fault_of_board(2, 3, variant), "");
}

TEST(ParityBoardModel, NeedsTwoSlots) {
  BoardVariant variant;
  variant.slots = 1;
  variant.in_slots = {1, 2, 3};
  EXPECT_NE(fault_of_board(2, 3, variant), "");
}

TEST(ParityBoardModel, NeedsReleaseAndAcquire) {
  BoardVariant no_release, no_acquire;
  no_release.release = false;
  no_acquire.acquire = false;
  EXPECT_NE(fault_of_board(2, 3, no_release).find("known to be written"), std::string::npos);
  EXPECT_NE(fault_of_board(2, 3, no_acquire).find("known to be written"), std::string::npos);
}

TEST(ParityBoardModel, NeedsThePayloadBeforeTheNumber) {
  BoardVariant variant;
  variant.payload_first = false;
  EXPECT_NE(fault_of_board(2, 3, variant), "");
}

TEST(ParityBoardModel, NeedsAllReadsOfAnExchangeBeforeTheNextNumber) {
  BoardVariant variant;
  variant.reads_in_its_own_exchange = false;
  EXPECT_NE(fault_of_board(2, 4, variant), "");
}

// Two vectors in one piece, one in four, one in one, and one in two; and the least vectors that can go wrong.
BoardVariant pieces_ahead() {
  BoardVariant variant;
  variant.places = 4;
  variant.ahead = 2;
  variant.alone = {1, 2, 3, 7, 8};
  variant.in_slots = {1, 2, 7};
  return variant;
}

TEST(ParityBoardModel, IsRightWithPiecesAhead) {
  EXPECT_EQ(fault_of_board(2, 9, pieces_ahead()), "");
  EXPECT_EQ(fault_of_board(3, 4, pieces_ahead()), "");
  BoardVariant of_one_vector = pieces_ahead();
  of_one_vector.alone = {1};
  of_one_vector.in_slots.clear();
  EXPECT_EQ(fault_of_board(2, 8, of_one_vector), "");
}

TEST(ParityBoardModel, NeedsFourPlacesForPiecesAhead) {
  BoardVariant variant = pieces_ahead();
  variant.places = 3;
  EXPECT_NE(fault_of_board(2, 9, variant).find("may be overwritten"), std::string::npos);
}

TEST(ParityBoardModel, NeedsToTakeLaterNumbersForPiecesAhead) {
  BoardVariant variant = pieces_ahead();
  variant.takes_later_numbers = false;
  EXPECT_NE(fault_of_board(2, 9, variant), "");
}

TEST(ParityBoardModel, HasNoRoomForPiecesAheadInItsSlots) {
  BoardVariant variant = pieces_ahead();
  variant.in_slots = {2, 4};
  EXPECT_NE(fault_of_board(2, 4, variant).find("may be overwritten"), std::string::npos);
}

TEST(ParityBoardModel, HasNoRoomForPiecesThreeAhead) {
  BoardVariant variant = pieces_ahead();
  variant.ahead = 3;
  variant.alone = {1};
  variant.in_slots.clear();
  EXPECT_NE(fault_of_board(2, 7, variant).find("may be overwritten"), std::string::npos);
}

struct ChannelVariant {
  int window = 2;
  int slots_ahead = 0; ///< how many slices a sender is too early
  bool release_finished = true;
  bool acquire_finished = true;
};

/// One sender, and receivers that each take every slice.
std::vector<Thread> channel(int receivers, int slices, const ChannelVariant& variant) {
  const auto number = [&](int slice) { return 2 * (slice % variant.window); };
  const auto payload = [&](int slice) { return number(slice) + 1; };
  const auto finished = [&](int receiver) { return 2 * variant.window + receiver; };
  std::vector<Thread> threads(static_cast<std::size_t>(receivers) + 1);
  for (int slice = 0; slice < slices; ++slice) {
    const int needed = slice - variant.window + 1 - variant.slots_ahead;
    for (int receiver = 0; receiver < receivers && needed > 0; ++receiver)
      threads[0].push_back({Kind::await_least, finished(receiver), needed, variant.acquire_finished});
    threads[0].push_back({Kind::plain_write, payload(slice), slice + 1});
    threads[0].push_back({Kind::store, number(slice), slice + 1});
    for (int receiver = 0; receiver < receivers; ++receiver) {
      Thread& thread = threads[static_cast<std::size_t>(receiver) + 1];
      thread.push_back({Kind::await_equal, number(slice), slice + 1});
      thread.push_back({Kind::plain_read, payload(slice), slice + 1});
      thread.push_back({Kind::store, finished(receiver), slice + 1, variant.release_finished});
    }
  }
  return threads;
}

std::string fault_of_channel(int receivers, int slices, const ChannelVariant& variant) {
  return Exploration(channel(receivers, slices, variant), 2 * variant.window + receivers).fault();
}

TEST(ChannelModel, IsRightForOneAndTwoReceiversInEveryOrder) {
  for (int window : {1, 2, 3}) {
    ChannelVariant variant;
    variant.window = window;
    EXPECT_EQ(fault_of_channel(1, 6, variant), "");
    EXPECT_EQ(fault_of_channel(2, 4, variant), "");
  }
}

TEST(ChannelModel, NeedsASlotToBeFinishedByAllBeforeItIsUsedAgain) {
  ChannelVariant variant;
  variant.slots_ahead = 1;
  EXPECT_NE(fault_of_channel(2, 4, variant), "");
}

TEST(ChannelModel, NeedsReleaseAndAcquireOfWhatIsFinished) {
  ChannelVariant no_release, no_acquire;
  no_release.release_finished = false;
  no_acquire.acquire_finished = false;
  EXPECT_NE(fault_of_channel(1, 4, no_release).find("may still read"), std::string::npos);
  EXPECT_NE(fault_of_channel(1, 4, no_acquire).find("may still read"), std::string::npos);
}

} // namespace
} // namespace strata::memory_model
