// SPDX-License-Identifier: BSD-3-Clause
#include "comm/all_or_none.h"

#include "thread_bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>

namespace strata::comm::all_or_none {
namespace {

/// What a rank gave to each exchange, in bytes.
using Lengths = std::vector<std::size_t>;

class Counting final : public Bootstrap {
public:
  Counting(std::unique_ptr<Bootstrap> exchanges, Lengths& lengths)
      : exchanges_(std::move(exchanges)), lengths_(lengths) {}
  std::int32_t rank() const override { return exchanges_->rank(); }
  std::int32_t ranks() const override { return exchanges_->ranks(); }
  Status all_gather(const void* mine, void* all, std::size_t bytes) override {
    lengths_.push_back(bytes);
    return exchanges_->all_gather(mine, all, bytes);
  }

private:
  std::unique_ptr<Bootstrap> exchanges_;
  Lengths& lengths_;
};

/// One rank of a great many, of which all others give what it gives.
class Alike final : public Bootstrap {
public:
  explicit Alike(std::int32_t ranks) : ranks_(ranks) {}
  std::int32_t rank() const override { return 0; }
  std::int32_t ranks() const override { return ranks_; }
  Status all_gather(const void* mine, void* all, std::size_t bytes) override {
    for (std::int32_t rank = 0; rank < ranks_; ++rank)
      std::memcpy(static_cast<char*>(all) + static_cast<std::size_t>(rank) * bytes, mine, bytes);
    return ok();
  }

private:
  std::int32_t ranks_;
};

/// Runs the steps of three ranks, as threads. What rank 0 gave to each exchange.
Lengths run_on_all(const std::function<void(int, AllOrNone&)>& steps, std::vector<Status>* ended = nullptr) {
  constexpr int ranks = 3;
  const auto meeting = std::make_shared<Meeting>(ranks);
  Lengths lengths[ranks];
  std::vector<Status> ends(ranks, ok());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      const auto place = static_cast<std::size_t>(rank);
      AllOrNone together(std::make_unique<Counting>(std::make_unique<ThreadBootstrap>(meeting, rank), lengths[place]));
      ends[place] = together.run([&] { steps(rank, together); });
    });
  for (std::thread& thread : threads)
    thread.join();
  if (ended != nullptr) *ended = std::move(ends);
  return lengths[0];
}

/// All of what the ranks give in an exchange of so many bytes, each another pattern.
void expect_exchange_of(std::size_t bytes, int rank, AllOrNone& together) {
  const auto of = [&](std::int32_t one) {
    std::vector<std::uint8_t> pattern(bytes);
    std::iota(pattern.begin(), pattern.end(), static_cast<std::uint8_t>(100 * one));
    return pattern;
  };
  std::vector<std::uint8_t> all(bytes * static_cast<std::size_t>(together.ranks())), expected;
  for (std::int32_t one = 0; one < together.ranks(); ++one) {
    const std::vector<std::uint8_t> pattern = of(one);
    expected.insert(expected.end(), pattern.begin(), pattern.end());
  }
  EXPECT_TRUE(together.all_gather(of(rank).data(), all.data(), bytes));
  EXPECT_EQ(all, expected) << bytes << " bytes";
}

TEST(AllOrNone, SendsShortMessagesInItsFrames) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{40}, AllOrNone::most_in_frame}) {
    const Lengths lengths = run_on_all([&](int rank, AllOrNone& together) {
      expect_exchange_of(bytes, rank, together);
      expect_exchange_of(bytes, rank, together);
    });
    ASSERT_EQ(lengths.size(), 3u) << "one for each message, and one at the end";
    EXPECT_EQ(std::count(lengths.begin(), lengths.end(), lengths.front()), 3) << "frames are all of one length";
  }
}

TEST(AllOrNone, SendsLongMessagesBehindAFrame) {
  const std::size_t bytes = AllOrNone::most_in_frame + 1;
  const Lengths lengths = run_on_all([&](int rank, AllOrNone& together) { expect_exchange_of(bytes, rank, together); });
  ASSERT_EQ(lengths.size(), 3u);
  EXPECT_EQ(lengths[1], bytes);
  EXPECT_EQ(lengths[0], lengths[2]);
}

TEST(AllOrNone, EndsOnAllRanksWhereOneHasNoMemory) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1000}}) {
    std::vector<Status> ends;
    (void)run_on_all(
        [&](int rank, AllOrNone& together) {
          expect_exchange_of(8, rank, together);
          if (rank == 1) throw std::bad_alloc();
          std::vector<std::byte> mine(bytes), all(3 * bytes);
          EXPECT_FALSE(together.all_gather(mine.data(), all.data(), bytes));
          EXPECT_FALSE(together.is_whole());
        },
        &ends);
    for (const Status& end : ends) {
      ASSERT_FALSE(end);
      EXPECT_EQ(end.error().message, out_of_memory().message);
    }
  }
}

TEST(AllOrNone, EndsOnAllRanksWhereOneStaysAway) {
  std::vector<Status> ends;
  const Lengths lengths = run_on_all(
      [&](int rank, AllOrNone& together) {
        if (rank == 2) return together.stay_away();
        EXPECT_FALSE(gather(together, rank));
      },
      &ends);
  EXPECT_EQ(lengths.size(), 1u);
  for (const Status& end : ends) {
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().message, cannot_tell_memory().message);
  }
}

TEST(AllOrNone, TellsOfNoMemoryBehindAWait) {
  std::vector<Status> ends;
  (void)run_on_all(
      [&](int rank, AllOrNone& together) {
        together.run_and_wait(
            [&] {
              if (rank == 0) throw std::bad_alloc();
            },
            {});
        EXPECT_FALSE(gather(together, rank));
      },
      &ends);
  for (const Status& end : ends) {
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().message, out_of_memory().message);
  }
}

TEST(AllOrNone, ExchangesNothing) {
  const Lengths lengths =
      run_on_all([&](int, AllOrNone& together) { EXPECT_TRUE(together.all_gather(nullptr, nullptr, 0)); });
  EXPECT_EQ(lengths.size(), 2u);
}

TEST(AllOrNone, EndsWhereRanksDoNotDoTheSame) {
  std::vector<Status> ends;
  const Lengths lengths = run_on_all(
      [&](int rank, AllOrNone& together) {
        std::byte mine[8]{}, all[3 * 8];
        EXPECT_FALSE(together.all_gather(mine, all, rank == 1 ? 4 : 8));
      },
      &ends);
  EXPECT_EQ(lengths.size(), 1u);
  for (const Status& end : ends)
    EXPECT_FALSE(end);
}

/// Takes part in all exchanges, and from one on hears nothing any more.
class Deaf final : public Bootstrap {
public:
  Deaf(std::unique_ptr<Bootstrap> exchanges, std::size_t from) : exchanges_(std::move(exchanges)), before_(from) {}
  std::int32_t rank() const override { return exchanges_->rank(); }
  std::int32_t ranks() const override { return exchanges_->ranks(); }
  Status all_gather(const void* mine, void* all, std::size_t bytes) override {
    const Status gathered = exchanges_->all_gather(mine, all, bytes);
    if (before_ == 0) return Error{ErrorKind::peer, "this rank hears nothing"};
    --before_;
    return gathered;
  }

private:
  std::unique_ptr<Bootstrap> exchanges_;
  std::size_t before_;
};

TEST(AllOrNone, ExchangesNoMoreThanTheOthersWhereAllItsExchangesFail) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1000}}) {
    const auto meeting = std::make_shared<Meeting>(2);
    Lengths lengths[2];
    Status ends[2] = {ok(), ok()};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        std::unique_ptr<Bootstrap> exchanges = std::make_unique<ThreadBootstrap>(meeting, rank);
        // The second message: with a frame, it is in the second exchange, and else behind that frame in the fourth.
        if (rank == 1) exchanges = std::make_unique<Deaf>(std::move(exchanges), bytes == 8 ? 1 : 3);
        AllOrNone together(std::make_unique<Counting>(std::move(exchanges), lengths[rank]));
        std::vector<std::byte> mine(bytes), all(2 * bytes);
        ends[rank] = together.run([&] {
          for (int i = 0; i < 4; ++i) // whatever came of the one before
            (void)together.all_gather(mine.data(), all.data(), bytes);
        });
        EXPECT_FALSE(together.exchanges_work());
      });
    for (std::thread& thread : threads)
      thread.join();
    EXPECT_FALSE(ends[0]);
    EXPECT_FALSE(ends[1]);
    EXPECT_EQ(lengths[0].size(), lengths[1].size()) << bytes << " bytes";
    EXPECT_EQ(lengths[0].size(), bytes == 8 ? 3u : 5u) << "the one behind it tells";
  }
}

TEST(AllOrNone, EndsOnAllRanksWhereOneDeclines) {
  const auto meeting = std::make_shared<Meeting>(2);
  std::thread declining([&] {
    ThreadBootstrap exchanges(meeting, 1);
    std::vector<std::byte> frames(AllOrNone::bytes_to_decline(2));
    AllOrNone::decline(exchanges, frames.data());
  });
  AllOrNone together(std::make_unique<ThreadBootstrap>(meeting, 0));
  const Status end = together.run([&] { EXPECT_FALSE(gather(together, 1)); });
  declining.join();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, out_of_memory().message);
}

/// Each rank has room for all frames: of a great many ranks they are a byte.
TEST(AllOrNone, TakesAByteForEachOfManyRanks) {
  for (const std::int32_t ranks : {256, 257, 20000}) {
    const bool many = ranks > 256;
    Lengths lengths;
    AllOrNone together(std::make_unique<Counting>(std::make_unique<Alike>(ranks), lengths));
    const Status end = together.run([&] {
      const auto all = gather(together, std::uint64_t{7});
      ASSERT_TRUE(all);
      EXPECT_EQ(std::count(all->begin(), all->end(), 7), ranks);
    });
    EXPECT_TRUE(end);
    ASSERT_EQ(lengths.size(), many ? 3u : 2u) << ranks;
    EXPECT_EQ(lengths.back() == 1, many) << ranks;
    EXPECT_GE(AllOrNone::bytes_to_decline(ranks), lengths.back() * static_cast<std::size_t>(ranks));
  }
  EXPECT_GE(AllOrNone::bytes_to_decline(257), AllOrNone::bytes_to_decline(256)) << "enough for smaller sets, too";
}

} // namespace
} // namespace strata::comm::all_or_none
