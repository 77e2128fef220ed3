// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wait.h"

#include <gtest/gtest.h>

#include <chrono>

namespace strata::engine {
namespace {

/// How often the hook is called in so many steps of a wait in which nothing happens.
class Wait {
public:
  explicit Wait(Crowding crowding) : waiter_({count, &calls_}, crowding) {}
  int calls_in(int steps, bool peer_shares_cpu) {
    calls_ = 0;
    for (int step = 0; step < steps; ++step)
      waiter_.step(peer_shares_cpu);
    return calls_;
  }
  void reset() { waiter_.reset(); }

private:
  static void count(void* calls) { ++*static_cast<int*>(calls); }
  int calls_ = 0;
  Waiter waiter_;
};

TEST(Waiter, SpinsWhereCoresAreEnough) {
  Wait wait(Crowding::roomy);
  EXPECT_EQ(wait.calls_in(1280, false), 10); // each 128 pauses
  EXPECT_EQ(wait.calls_in(1280, true), 10);  // a core of its own: nobody is kept from it
}

TEST(Waiter, GivesTheCoreToAPeerThatSharesItAtOnce) {
  Wait wait(Crowding::crowded);
  EXPECT_EQ(wait.calls_in(100, true), 10); // each tenth yield
}

TEST(Waiter, GivesTheCoreAwayAfterAWhileWhereItIsCrowded) {
  Wait wait(Crowding::crowded);
  EXPECT_EQ(wait.calls_in(199, false), 1);
  EXPECT_EQ(wait.calls_in(100, false), 10);
  wait.reset(); // something happened: it spins again
  EXPECT_EQ(wait.calls_in(199, false), 1);
}

TEST(Waiter, NapsInALongWaitAndProgressesAfterEachNap) {
  Wait wait(Crowding::crowded);
  EXPECT_EQ(wait.calls_in(1999, true), 199);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_GE(wait.calls_in(20, true), 20);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(20 * 50));
}

TEST(Waiter, NeedsNoHook) {
  Waiter waiter({}, Crowding::crowded);
  for (int step = 0; step < 3000; ++step)
    waiter.step(step % 2 == 0);
}

} // namespace
} // namespace strata::engine
