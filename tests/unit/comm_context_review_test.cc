// SPDX-License-Identifier: BSD-3-Clause
// What contexts do when calls of a node take another time than they took: all ways are tried anew.
#include "context_calls.h"
#include "thread_bootstrap.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>

namespace strata::comm {
namespace {

using Clock = std::chrono::steady_clock;

/// On a machine with much else to do, ranks that spin for each other take a time slice for each call.
constexpr std::chrono::seconds patience{20};
constexpr double seconds_between_looks = 0.125;

/// Calls of one size by one rank. Its first element tells the others whether this rank has lost patience, so that all
/// make the same number of calls.
class Caller {
public:
  Caller(Context& context, std::int64_t count)
      : context_(context), input_(static_cast<std::size_t>(count), 1.0F), output_(input_.size()) {
    call_.input = input_.data();
    call_.output = output_.data();
    call_.elements = count;
    call_.element = type::Element::float32;
    call_.operation = type::Operation::sum;
  }
  bool on_trial() const { return context_.on_trial(input_.size() * sizeof(float)); }
  bool has_patience() const { return has_patience_; }
  void call() {
    input_.front() = Clock::now() < end_ ? 1.0F : 2.0F;
    const auto ranks = static_cast<float>(context_.ranks());
    right_ &= context_.all_reduce(call_) == Outcome::done;
    right_ &= output_.front() >= ranks && output_.front() <= 2 * ranks && output_.back() == ranks;
    has_patience_ &= output_.front() == ranks;
    ++calls_;
  }
  void call_until_trial_ends() {
    while (on_trial() && has_patience_)
      call();
  }
  void call_until_trial(std::uint64_t most_calls) {
    for (std::uint64_t calls = 0; calls < most_calls && !on_trial() && has_patience_; ++calls)
      call();
  }
  /// While the ranks come late in turn, so that each waits for every other call of others.
  void call_late_until_trial(double late, std::uint64_t most_calls) {
    const auto spent = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(late));
    for (std::uint64_t calls = 0; calls < most_calls && !on_trial() && has_patience_; ++calls) {
      if (calls_ % static_cast<std::uint64_t>(context_.ranks()) == static_cast<std::uint64_t>(context_.rank())) {
        const auto end = Clock::now() + spent;
        while (Clock::now() < end) {
        }
      }
      call();
    }
  }
  /// Seconds of a call, the mean of many; the least of the ranks'.
  double seconds() {
    constexpr int many = 500;
    const auto begin = Clock::now();
    for (int i = 0; i < many && has_patience_; ++i)
      call();
    const double mine = std::chrono::duration<double>(Clock::now() - begin).count() / many;
    double least = 0;
    Call call;
    call.input = &mine;
    call.output = &least;
    call.elements = 1;
    call.element = type::Element::float64;
    call.operation = type::Operation::minimum;
    right_ &= context_.all_reduce(call) == Outcome::done;
    ++calls_;
    return least;
  }
  bool is_right() const { return right_; }
  std::uint64_t calls() const { return calls_; }

private:
  Context& context_;
  std::vector<float> input_, output_;
  Call call_;
  const Clock::time_point end_ = Clock::now() + patience;
  bool right_ = true, has_patience_ = true;
  std::uint64_t calls_ = 0;
};

Options options_that_try() {
  Options options = ThreadJob::options_for_tests();
  options.tune = Tune::online;
  options.trial = 100;
  return options;
}

/// That all ranks are right, and each call was counted once.
void expect_counted(const Context& context, const Caller& caller) {
  EXPECT_TRUE(caller.is_right());
  std::uint64_t counted = 0;
  for (const auto& [name, tally] : context.statistics().by_algorithm)
    counted += tally.calls;
  EXPECT_EQ(counted, caller.calls());
}

// Of 8 KiB, the latency path wins nearly always; of 256 KiB, schedules may.
TEST(ContextReview, TriesAllWaysOfANodeAnewWhenCallsTakeLonger) {
  for (const std::int64_t count : {2048, 65536}) {
    std::atomic<bool> too_slow = false;
    ThreadJob job({options_that_try(), options_that_try()}, {}, ThreadJob::Cores::all);
    job.run_in_context([&](Context& context) {
      Caller caller(context, count);
      caller.call();
      EXPECT_TRUE(caller.on_trial());
      caller.call_until_trial_ends();
      const double seconds = caller.seconds();
      const auto looks =
          static_cast<std::uint64_t>(4 * seconds_between_looks / seconds); // even if the trial saw a quarter of that
      for (const int times : {8, 40}) // what a busy machine may make of the trial is not five times both
        caller.call_late_until_trial(times * seconds, 1000 + looks);
      if (!caller.has_patience()) {
        too_slow = true;
        return;
      }
      EXPECT_TRUE(caller.on_trial()) << "no look saw it";
      caller.call_until_trial_ends();
      caller.seconds();
      expect_counted(context, caller);
    });
    if (too_slow) GTEST_SKIP() << "this machine has too much else to do";
  }
}

/// Kernels whose copies take as long as these say, in nanoseconds: of cores that share caches, or not.
std::atomic<std::int64_t> through_caches, around_caches;
kernel::Kernels slow_copies() {
  kernel::Kernels kernels = kernel::scalar();
  kernels.copy = [](void* to, const void* from, std::size_t bytes, kernel::Store store) {
    const auto end =
        Clock::now() + std::chrono::nanoseconds(store == kernel::Store::streaming ? around_caches : through_caches);
    std::memcpy(to, from, bytes);
    while (Clock::now() < end) {
    }
  };
  return kernels;
}

bool is_around_caches(const Context& context, std::size_t bytes) {
  return context.way_text(bytes).find("around=published") != std::string::npos;
}

// While it takes the time that it took, another may take less: where cores move to where they share a cache.
TEST(ContextReview, TriesAllWaysAnewWhenOtherStoresAreFasterByNow) {
  constexpr std::int64_t count = 1024, bytes = count * 4;
  constexpr std::int64_t fast = 2'000, usual = 30'000, slow = 60'000;
  constexpr int looks = 20; // two of each ten are at the rival
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) < 2)
    GTEST_SKIP() << "ranks that share a core look at no rival";
  const kernel::Kernels kernels = slow_copies();
  ThreadJob job({options_that_try(), options_that_try()}, {}, ThreadJob::Cores::all, &kernels);
  std::atomic<bool> too_slow = false;
  through_caches = slow;
  around_caches = usual;
  job.run_in_context([&](Context& context) {
    Caller caller(context, count);
    caller.call();
    caller.call_until_trial_ends();
    if (!is_around_caches(context, bytes)) { // it was another way's turn when the machine had something else to do
      too_slow = true;
      return;
    }
    through_caches = fast;
    caller.call_until_trial(static_cast<std::uint64_t>(looks * seconds_between_looks / (usual * 1e-9)));
    if (!caller.has_patience()) {
      too_slow = true;
      return;
    }
    EXPECT_TRUE(caller.on_trial()) << "no look saw it";
    caller.call_until_trial_ends();
    EXPECT_FALSE(is_around_caches(context, bytes));
    expect_counted(context, caller);
  });
  if (too_slow) GTEST_SKIP() << "this machine has too much else to do";
}

TEST(ContextReview, IsNotWhereNothingIsTried) {
  Options options = options_that_try();
  options.algorithm = "board";
  ThreadJob job({options, options}, {}, ThreadJob::Cores::all);
  job.run_in_context([&](Context& context) {
    Caller caller(context, 2048);
    for (int i = 0; i < 4 && caller.has_patience(); ++i)
      caller.seconds();
    EXPECT_FALSE(caller.on_trial());
    expect_counted(context, caller);
  });
}

} // namespace
} // namespace strata::comm
