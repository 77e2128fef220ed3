// SPDX-License-Identifier: BSD-3-Clause
#include "comm/message_timing.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace strata::comm {
namespace {

/// What two threads send to each other; by its clock a message takes so long per byte, and nothing else takes time.
struct Desk {
  std::mutex mutex;
  std::condition_variable changed;
  std::array<std::deque<std::vector<std::byte>>, 2> sent;
  double seconds_per_byte = 0;
  double seconds = 0;
  std::size_t fails_from = SIZE_MAX;   ///< bytes
  std::size_t fails_after = SIZE_MAX;  ///< messages of one side
  std::size_t pauses_after = SIZE_MAX; ///< likewise; the next one takes a second
  std::ptrdiff_t slow = 0;             ///< so many messages of each size and side take twice as long
  std::array<std::vector<std::size_t>, 2> sizes;
};

class DeskCourier final : public Courier {
public:
  DeskCourier(Desk& desk, std::size_t self) : desk_(desk), self_(self) {}
  /// Each message goes to the other side so many times.
  void repeat(std::size_t times) { times_ = times; }
  bool send(const std::byte* payload, std::size_t bytes) override {
    if (bytes >= desk_.fails_from) return false;
    const std::lock_guard lock(desk_.mutex);
    if (desk_.sizes[self_].size() == desk_.fails_after) return false;
    if (self_ == 1 && desk_.sizes[self_].size() == desk_.pauses_after) desk_.seconds += 1;
    auto& sizes = desk_.sizes[self_];
    const bool is_slow = desk_.slow > 0 && std::count(sizes.begin(), sizes.end(), bytes) < desk_.slow;
    desk_.seconds += (is_slow ? 2 : 1) * desk_.seconds_per_byte * static_cast<double>(bytes);
    sizes.push_back(bytes);
    desk_.sent[self_].insert(desk_.sent[self_].end(), times_, {payload, payload + bytes});
    desk_.changed.notify_all();
    return true;
  }
  bool receive(std::byte* payload, std::size_t bytes) override {
    if (bytes >= desk_.fails_from) return false;
    std::unique_lock lock(desk_.mutex);
    auto& come = desk_.sent[1 - self_];
    if (!desk_.changed.wait_for(lock, std::chrono::seconds(20), [&] { return !come.empty(); })) return false;
    EXPECT_EQ(come.front().size(), bytes) << "the two sides speak of different sizes";
    std::copy_n(come.front().begin(), std::min(bytes, come.front().size()), payload);
    come.pop_front();
    return true;
  }
  double seconds() const override {
    const std::lock_guard lock(desk_.mutex);
    return desk_.seconds;
  }

private:
  Desk& desk_;
  std::size_t self_, times_ = 1;
};

struct Timed {
  tune::SecondsBySize seconds;
  bool answered;
};

Timed timed(Desk& desk, double seconds_each, std::size_t least) {
  Timed result{};
  std::thread other([&] {
    std::vector<std::byte> payload(message_timing_bytes);
    DeskCourier courier(desk, 1);
    result.answered = answer_messages(courier, payload.data());
  });
  std::vector<std::byte> payload(message_timing_bytes);
  DeskCourier courier(desk, 0);
  result.seconds = ask_messages(courier, payload.data(), seconds_each, least);
  other.join();
  return result;
}

TEST(MessageTiming, HalvesTheWayThereAndBack) {
  Desk desk;
  desk.seconds_per_byte = 50e-9; // 256 KiB: 13 ms
  const Timed found = timed(desk, 20e-3, 3);
  EXPECT_TRUE(found.answered);
  for (std::size_t size = 0; size < tune::message_sizes.size(); ++size)
    EXPECT_NEAR(found.seconds[size], desk.seconds_per_byte * static_cast<double>(tune::message_sizes[size]), 1e-9);
}

TEST(MessageTiming, SendsEachSizeAtLeastSoOftenAndTheFirstForNothing) {
  const auto sent = [](const Desk& desk) {
    std::vector<std::ptrdiff_t> counts;
    for (const std::size_t bytes : tune::message_sizes)
      counts.push_back(std::count(desk.sizes[0].begin(), desk.sizes[0].end(), bytes));
    return counts;
  };
  Desk desk;
  desk.seconds_per_byte = 50e-9;
  (void)timed(desk, 1e-9, 4); // no time at all: the next size would take longer than there is time for
  EXPECT_EQ(sent(desk), (std::vector<std::ptrdiff_t>{5, 0, 0, 0, 0}));
  Desk longer;
  longer.seconds_per_byte = 50e-9;
  (void)timed(longer, 1e-3, 4);
  EXPECT_EQ(sent(longer), (std::vector<std::ptrdiff_t>{64 + 10, 10 + 10, 2 + 4, 5, 5}))
      << "after so many that do not count, or half of the time, until they are alike or time is up";
  EXPECT_EQ(longer.sizes[0], longer.sizes[1]);
}

TEST(MessageTiming, WaitsUntilCachesAreWarm) {
  Desk desk;
  desk.seconds_per_byte = 500e-12; // 256 KiB: 131 us
  desk.slow = 60;                  // alike, too
  const Timed found = timed(desk, 80e-3, 3);
  for (std::size_t size = 0; size < tune::message_sizes.size(); ++size)
    EXPECT_NEAR(found.seconds[size], desk.seconds_per_byte * static_cast<double>(tune::message_sizes[size]), 1e-12);
}

TEST(MessageTiming, KeepsWhatItHasWhenOneFails) {
  Desk desk;
  desk.fails_from = 4096;
  const Timed found = timed(desk, 1e-3, 3);
  EXPECT_FALSE(found.answered);
  EXPECT_GT(found.seconds[0], 0);
  EXPECT_GT(found.seconds[1], 0);
  for (std::size_t size = 2; size < tune::message_sizes.size(); ++size)
    EXPECT_EQ(found.seconds[size], 0);
}

/// By rank of a ring of two, which the first ends after so many seconds. From each come so many messages in a round.
std::array<double, 2> passed(Desk& desk, double seconds, std::size_t sources = 1) {
  std::array<double, 2> rounds{};
  const auto pass = [&](std::size_t self) {
    DeskCourier courier(desk, self);
    courier.repeat(sources);
    rounds[self] = pass_around(courier, seconds, {2, sources, self == 0});
  };
  std::thread other([&] { pass(1); });
  pass(0);
  other.join();
  return rounds;
}

TEST(PassingAround, EndsForAllRanksWithWhatARoundTook) {
  Desk desk;
  desk.seconds_per_byte = 1e-6 / static_cast<double>(passed_bytes); // a message takes a microsecond, of either
  const std::array<double, 2> rounds = passed(desk, 4e-3);
  for (const double round : rounds)
    EXPECT_NEAR(round, 2e-6, 0.02e-6);
  EXPECT_EQ(desk.sizes[0], desk.sizes[1]);
  EXPECT_NEAR(static_cast<double>(desk.sizes[0].size()), 2000, 10);
}

TEST(PassingAround, TakesAllMessagesOfARound) {
  Desk desk;
  desk.seconds_per_byte = 1e-6 / static_cast<double>(passed_bytes);
  for (const double round : passed(desk, 4e-3, 3))
    EXPECT_NEAR(round, 2e-6, 0.02e-6);
  EXPECT_EQ(desk.sizes[0], desk.sizes[1]);
  EXPECT_TRUE(desk.sent[0].empty() && desk.sent[1].empty()) << "a message was left behind";
}

TEST(PassingAround, DoesNotCountAPauseOfOneProcess) {
  Desk desk;
  desk.seconds_per_byte = 1e-6 / static_cast<double>(passed_bytes);
  desk.pauses_after = 800;
  for (const double round : passed(desk, 2)) // of which the pause takes half, and 0.5 s a part
    EXPECT_NEAR(round, 2e-6, 0.02e-6);
}

TEST(PassingAround, FailsWhenAMessageDoes) {
  Desk desk;
  desk.seconds_per_byte = 1e-6;
  desk.fails_after = 40;
  EXPECT_EQ(passed(desk, 1), (std::array<double, 2>{0, 0}));
}

} // namespace
} // namespace strata::comm
