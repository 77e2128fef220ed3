// SPDX-License-Identifier: BSD-3-Clause
#include "engine/core_contention.h"
#include "engine/wait.h"
#include "new_folder.h"

#include <gtest/gtest.h>

#include <sched.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace strata::engine {
namespace {

using namespace std::chrono_literals;

std::uint64_t told_switches = 0;

/// A file of counts that a test writes, and what is made of it.
class ToldContention : public testing::Test {
protected:
  ~ToldContention() override { std::filesystem::remove_all(folder_); }
  /// In milliseconds; long enough after the last time that the counts are read.
  void tell(int ran, int waited, int switches = 0) {
    ran_ += ran, waited_ += waited;
    told_switches += static_cast<std::uint64_t>(switches);
    write(std::to_string(ran_) + "000000 " + std::to_string(waited_) + "000000 7\n");
  }
  void write(const std::string& text) {
    std::ofstream(folder_ / "counts") << text;
    std::this_thread::sleep_for(45ms);
    for (int step = 0; step < 16; ++step)
      contention_.step();
  }

  std::filesystem::path folder_ = new_folder("strata-contention");
  CoreContention contention_{(folder_ / "counts").string(), [] { return told_switches; }};

private:
  int ran_ = 3, waited_ = 70;
};

TEST_F(ToldContention, IsFoundWhereAFifthOfTheTimeIsWaitedFor) {
  tell(0, 0);
  EXPECT_FALSE(contention_.found()); // what was before is not known to be of this wait
  tell(9, 1);
  EXPECT_FALSE(contention_.found());
  tell(3, 1);
  EXPECT_TRUE(contention_.found());
}

TEST_F(ToldContention, IsOverWhereHardlyAnythingIs) {
  tell(0, 0);
  tell(1, 1);
  tell(9, 1);
  EXPECT_TRUE(contention_.found()); // less than what it takes to be found
  tell(99, 1);
  EXPECT_FALSE(contention_.found());
}

TEST_F(ToldContention, IsFoundWhereOthersTakeTheCoreOften) {
  tell(0, 0, 1000);
  EXPECT_FALSE(contention_.found()); // what was before
  tell(98, 2, 10);
  EXPECT_FALSE(contention_.found()); // a hundred in a second
  tell(98, 2, 30);
  EXPECT_TRUE(contention_.found());
  tell(98, 2, 30);
  EXPECT_TRUE(contention_.found());
  tell(98, 2, 10);
  EXPECT_FALSE(contention_.found());
}

TEST_F(ToldContention, IsNotJudgedByLittle) {
  tell(0, 0);
  tell(0, 0); // as of a thread that slept
  EXPECT_FALSE(contention_.found());
  tell(1, 1);
  tell(0, 0);
  EXPECT_TRUE(contention_.found());
}

TEST_F(ToldContention, IsNotJudgedByWhatIsNoCounts) {
  for (const char* text : {"", "x y z\n", "5000000\n", "-1 -2 -3\n", "99999999999999999999999 1 1\n"}) {
    tell(0, 0);
    write(text);
    EXPECT_FALSE(contention_.found()) << text;
  }
}

TEST_F(ToldContention, IsNotJudgedByCountsThatWentBack) {
  write("9000000000 9000000000 1\n");
  write("1000000 1000000 1\n"); // as of a new thread that is called like one that has ended
  EXPECT_FALSE(contention_.found());
}

TEST_F(ToldContention, BeginsAnewInAnotherThread) {
  tell(0, 0);
  std::thread([&] { tell(5, 5); }).join();
  EXPECT_FALSE(contention_.found());
}

TEST_F(ToldContention, MakesAWaitGiveTheCoreUpAtOnce) {
  int calls = 0;
  const auto count = [](void* calls_of) { ++*static_cast<int*>(calls_of); };
  Waiter waiter({count, &calls}, Crowding::roomy, &contention_);
  const auto calls_in = [&](int steps) {
    calls = 0;
    for (int step = 0; step < steps; ++step)
      waiter.step(false);
    return calls;
  };
  tell(0, 0);
  EXPECT_EQ(calls_in(1280), 10); // each 128 pauses
  tell(1, 1);
  EXPECT_EQ(calls_in(100), 10); // each tenth yield
}

TEST(CoreContention, OfNoFileIsNone) {
  CoreContention contention("/nowhere/counts");
  for (int step = 0; step < 1000; ++step)
    contention.step();
  EXPECT_FALSE(contention.found());
}

/// Whether it is found within two seconds of waiting, beside so many other threads that do `turn` on the same core.
bool is_found_beside(int threads, void (*turn)()) {
  cpu_set_t one_core;
  CPU_ZERO(&one_core);
  CPU_SET(::sched_getcpu(), &one_core);
  ::sched_setaffinity(0, sizeof one_core, &one_core); // of the calling thread, and those that it starts
  std::atomic<bool> over = false;
  std::vector<std::thread> others;
  for (int thread = 0; thread < threads; ++thread)
    others.emplace_back([&] {
      while (!over)
        turn();
    });
  CoreContention contention;
  const auto end = std::chrono::steady_clock::now() + 2s;
  while (!contention.found() && std::chrono::steady_clock::now() < end)
    contention.step();
  over = true;
  for (std::thread& other : others)
    other.join();
  return contention.found();
}

TEST(CoreContention, IsSeenByTheKernelsCounts) {
  if (std::ifstream counts("/proc/thread-self/schedstat"); !counts) GTEST_SKIP() << "this kernel counts no waits";
  bool found = false;
  std::thread([&] { found = is_found_beside(2, pause); }).join();
  EXPECT_TRUE(found);
}

// As a rank that waits for another on this core, which may be the one that looks.
TEST(CoreContention, IsSeenWhereAnotherGivesTheCoreUpAtOnce) {
  if (std::ifstream counts("/proc/thread-self/schedstat"); !counts) GTEST_SKIP() << "this kernel counts no waits";
  bool found = false;
  std::thread([&] { found = is_found_beside(1, [] { ::sched_yield(); }); }).join();
  EXPECT_TRUE(found);
}

} // namespace
} // namespace strata::engine
