// SPDX-License-Identifier: BSD-3-Clause
// An exchange of the bootstrap that fails on one rank, anywhere while a context is made, decides or tries: no rank
// hangs, none goes on alone.
#include "share.h"
#include "thread_bootstrap.h"

#include "base/core_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace strata::comm::exchanges_that_fail {
namespace {

constexpr std::size_t ranks = 3;

/// One exchange fails where it is told to, on this rank only. Those of a byte are left out: AllOrNone sends them to
/// agree, and of these nobody can tell the others.
class FailsOnce final : public Bootstrap {
public:
  FailsOnce(std::shared_ptr<Meeting> meeting, int rank) : exchanges_(std::move(meeting), rank) {}
  std::int32_t rank() const override { return exchanges_.rank(); }
  std::int32_t ranks() const override { return exchanges_.ranks(); }
  void wait_for_all(engine::IdleHook meanwhile) override { exchanges_.wait_for_all(meanwhile); }
  engine::IdleHook idle_hook() const override { return exchanges_.idle_hook(); }
  Status all_gather(const void* mine, void* all, std::size_t bytes) override {
    Status gathered = exchanges_.all_gather(mine, all, bytes);
    if (bytes <= 1 || !armed_) return gathered;
    if (before_ > 0) {
      --before_;
      return gathered;
    }
    armed_ = false;
    failed_ = true;
    return Error{ErrorKind::peer, "this exchange was to fail"};
  }

  /// After so many more.
  void fail_after(std::uint64_t exchanges) {
    armed_ = true;
    before_ = exchanges;
  }
  bool has_failed() const { return failed_; }

private:
  ThreadBootstrap exchanges_;
  bool armed_ = false, failed_ = false;
  std::uint64_t before_ = 0;
};

/// Sums of 1, 2 and so on, without a word of how long they are.
class Caller {
public:
  Caller(std::int32_t rank, std::size_t count) : input_(count, rank + 1), output_(count) {}
  const char* call(Context& context) {
    std::fill(output_.begin(), output_.end(), 0);
    const Call call{input_.data(), output_.data(), static_cast<std::int64_t>(input_.size()), type::Element::int32,
                    type::Operation::sum};
    const Outcome outcome = context.all_reduce(call);
    if (outcome == Outcome::native_on_trial) context.native_done(call);
    if (outcome == Outcome::peer_lost) return " lost";
    if (outcome != Outcome::done) return " native";
    const std::int32_t sum = context.ranks() * (context.ranks() + 1) / 2;
    return std::all_of(output_.begin(), output_.end(), [&](auto one) { return one == sum; }) ? " done" : " wrong";
  }
  std::size_t bytes() const { return input_.size() * sizeof(std::int32_t); }

private:
  std::vector<std::int32_t> input_, output_;
};

/// What came of it: by rank, "an error", or what became of each call.
struct Ending {
  bool failed = false;
  std::array<std::string, ranks> by_rank;
};

Ending ending_of(const Options& options, std::uint64_t exchanges_before) {
  ThreadJob job(ranks, options);
  Ending ending;
  job.run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
    auto bootstrap = std::make_unique<FailsOnce>(meeting, rank);
    FailsOnce& exchanges = *bootstrap; // the context keeps it
    if (rank == 1) exchanges.fail_after(exchanges_before);
    std::string& text = ending.by_rank[static_cast<std::size_t>(rank)];
    const auto context = Context::create(job.process(rank), std::move(bootstrap));
    if (!context) {
      text = "an error";
      if (rank == 1) ending.failed = true;
      return;
    }
    Caller of_few(rank, 1), of_many(rank, 3000);
    for (int repeat = 0; repeat < 300; ++repeat) // to the end of a trial
      for (Caller* caller : {&of_few, &of_many})
        text += caller->call(**context);
    if (rank == 1) ending.failed = exchanges.has_failed();
  });
  return ending;
}

/// How many jobs ended in which way, over all exchanges that can fail.
struct Endings {
  std::size_t refused = 0, handed_over = 0;
};

Endings fail_every_exchange(const Options& options) {
  Share share;
  Endings endings;
  for (std::uint64_t before = 0;; ++before) {
    if (!share.takes_next()) continue;
    const Ending ending = ending_of(options, before);
    if (!ending.failed) return endings;
    const std::string& text = ending.by_rank[0];
    for (const std::string& other : ending.by_rank)
      EXPECT_EQ(text, other) << "after " << before << " exchanges";
    EXPECT_EQ(text.find("wrong"), std::string::npos) << "after " << before << " exchanges";
    EXPECT_EQ(text.find("lost"), std::string::npos) << "after " << before << " exchanges";
    if (text == "an error")
      ++endings.refused;
    else if (text.find("native") != std::string::npos)
      ++endings.handed_over;
    if (::testing::Test::HasFailure()) return endings;
  }
}

TEST(AnExchange, FailsWhileAContextIsMadeOrDecides) {
  const Endings endings = fail_every_exchange(ThreadJob::options_for_tests());
  EXPECT_GT(endings.refused, 0u);
  EXPECT_GT(endings.handed_over, 0u);
}

TEST(AnExchange, FailsInATrial) {
  Options options = ThreadJob::options_for_tests();
  options.tune = Tune::online;
  const Endings endings = fail_every_exchange(options);
  EXPECT_GT(endings.refused, 0u);
  EXPECT_GT(endings.handed_over, 2u);
}

TEST(AnExchange, FailsWhereThereAreLevels) {
  Options options = ThreadJob::options_for_tests();
  options.levels = "0,1|2";
  options.algorithm = "direct,ring";
  const Endings endings = fail_every_exchange(options);
  EXPECT_GT(endings.refused, 0u);
  EXPECT_GT(endings.handed_over, 0u);
}

/// A look at how long calls take, after the trial.
TEST(AnExchange, FailsInALook) {
  const CoreShare share = core_share();
  if (cores_together(std::vector{share, share}) < 2) GTEST_SKIP() << "ranks that share one core are not watched";
  Options options = ThreadJob::options_for_tests();
  options.tune = Tune::online;
  ThreadJob job({options, options}, {}, ThreadJob::Cores::all);
  std::array<std::uint64_t, 2> calls_of_strata{};
  job.run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
    auto bootstrap = std::make_unique<FailsOnce>(meeting, rank);
    FailsOnce& exchanges = *bootstrap;
    const auto context = Context::create(job.process(rank), std::move(bootstrap));
    ASSERT_TRUE(context);
    Caller caller(rank, 16);
    ASSERT_STREQ(caller.call(**context), " done");
    while ((*context)->on_trial(caller.bytes()))
      ASSERT_STREQ(caller.call(**context), " done");
    if (rank == 1) exchanges.fail_after(0);
    constexpr std::uint64_t most = 100'000'000; // a look comes every eighth of a second
    std::uint64_t& calls = calls_of_strata[static_cast<std::size_t>(rank)];
    const char* outcome = " done";
    while (std::strcmp(outcome = caller.call(**context), " done") == 0 && calls < most)
      ++calls;
    EXPECT_STREQ(outcome, " native");
    EXPECT_EQ(exchanges.has_failed(), rank == 1);
  });
  EXPECT_EQ(calls_of_strata[0], calls_of_strata[1]);
}

} // namespace
} // namespace strata::comm::exchanges_that_fail
