// SPDX-License-Identifier: BSD-3-Clause
// A rank that runs out of memory, anywhere while a context is made or decides: no rank hangs, none goes on alone.
#include "allocations.h"
#include "context_calls.h"
#include "share.h"
#include "thread_bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace strata::comm::lack_of_memory {
namespace {

using allocations::Shortage;

/// Where rank 1 of 3 lacks memory.
struct Lack {
  enum class Begins { before_there_is_a_context, with_the_calls };
  Options options = ThreadJob::options_for_tests();
  Begins begins = Begins::before_there_is_a_context;
  Shortage::Lasts lasts = Shortage::Lasts::one_time;
  std::uint64_t allocations_before = 0;
};

/// What came of it, by rank: "an error", or whether strata did the calls after that.
struct Ending {
  bool felt = false;
  std::vector<std::string> by_rank{3};
  std::size_t leased_bytes = 0; ///< of all segments, when all contexts were gone
};

/// The exchange itself is another library's, whose memory is its own business.
class ExchangesThatWork final : public Bootstrap {
public:
  ExchangesThatWork(std::shared_ptr<Meeting> meeting, int rank) : exchanges_(std::move(meeting), rank) {}
  std::int32_t rank() const override { return exchanges_.rank(); }
  std::int32_t ranks() const override { return exchanges_.ranks(); }
  Status all_gather(const void* mine, void* all, std::size_t bytes) override {
    const Shortage::Pause plenty;
    return exchanges_.all_gather(mine, all, bytes);
  }
  engine::IdleHook idle_hook() const override { return exchanges_.idle_hook(); }

private:
  ThreadBootstrap exchanges_;
};

constexpr std::int64_t counts[] = {1, 3000, 50000};

/// Sums of 1, 2 and 3.
class Caller {
public:
  explicit Caller(int rank) : vector_(50000), mine_(rank + 1) {}

  /// Takes no memory itself.
  const char* call(Context& context, std::int64_t count) {
    std::fill_n(vector_.begin(), count, mine_);
    const Call call{vector_.data(), vector_.data(), count, type::Element::int32, type::Operation::sum};
    const Outcome outcome = context.all_reduce(call);
    if (outcome == Outcome::native_on_trial) context.native_done(call);
    if (outcome == Outcome::peer_lost) return " lost";
    if (outcome != Outcome::done) return " native";
    return std::count(vector_.begin(), vector_.begin() + count, 6) == count ? " done" : " wrong";
  }

private:
  std::vector<std::int32_t> vector_;
  std::int32_t mine_;
};

/// The second round shows a way that was decided on by one rank only.
void call_while_short(const Lack& lack, Context& context, Caller& caller) {
  const bool many = lack.begins == Lack::Begins::with_the_calls; // to the end of a trial
  for (int repeat = 0; repeat < (many ? 300 : 1); ++repeat)
    for (const std::int64_t count : counts)
      if (!many || count == 3000) (void)caller.call(context, count);
}

Ending ending_of(const Lack& lack) {
  ThreadJob job(3, lack.options);
  Ending ending;
  job.run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
    Caller caller(rank);
    auto bootstrap = std::make_unique<ExchangesThatWork>(meeting, rank);
    Result<std::unique_ptr<Context>> context = Error{};
    {
      std::optional<Shortage> shortage;
      const auto begin = [&](Lack::Begins when) {
        if (rank == 1 && when == lack.begins) shortage.emplace(lack.allocations_before, lack.lasts);
      };
      begin(Lack::Begins::before_there_is_a_context);
      context = Context::create(job.process(rank), std::move(bootstrap));
      begin(Lack::Begins::with_the_calls);
      if (context) call_while_short(lack, **context, caller);
      if (rank == 1) ending.felt = Shortage::was_felt();
    }
    std::string& text = ending.by_rank[static_cast<std::size_t>(rank)];
    if (!context) text = "an error";
    for (int repeat = 0; context && repeat < 2; ++repeat)
      for (const std::int64_t count : counts)
        text += caller.call(**context, count);
  });
  for (int settling = 0; settling < 2; ++settling) // what a context leaves is looked at when another one goes
    job.run_in_context([](Context&) {});
  for (int rank = 0; rank < 3; ++rank)
    if (auto* memory = job.process(rank).shared_memory(nullptr))
      ending.leased_bytes += memory->segment().leased_bytes();
  return ending;
}

/// How many jobs ended in which way, over all allocations of rank 1 that can fail.
struct Endings {
  std::size_t refused = 0, handed_over = 0, done = 0;
};

void fail_every_allocation(Lack lack, Endings& endings) {
  Share share;
  const bool from_the_start = lack.begins == Lack::Begins::before_there_is_a_context;
  lack.allocations_before = from_the_start ? 2 : 0; // the object that agrees on a lack of memory takes two
  for (;; ++lack.allocations_before) {
    if (!share.takes_next()) continue;
    const Ending ending = ending_of(lack);
    if (!ending.felt) return;
    const std::string& text = ending.by_rank[0];
    ASSERT_EQ(text, ending.by_rank[1]) << "after " << lack.allocations_before << " allocations";
    ASSERT_EQ(text, ending.by_rank[2]) << "after " << lack.allocations_before << " allocations";
    ASSERT_EQ(text.find("wrong"), std::string::npos) << text;
    ASSERT_EQ(text.find("lost"), std::string::npos) << text;
    ASSERT_EQ(ending.leased_bytes, 0u) << "after " << lack.allocations_before << " allocations";
    if (text == "an error")
      ++endings.refused;
    else if (text.find("native") != std::string::npos)
      ++endings.handed_over;
    else
      ++endings.done;
  }
}

TEST(MemoryOfARank, IsShortOnceAndAllRanksGoOnAlike) {
  Endings endings;
  fail_every_allocation({}, endings);
  EXPECT_GT(endings.refused, 0u);
  EXPECT_GT(endings.handed_over, 0u);
}

TEST(MemoryOfARank, IsShortFromSomePlaceOnAndAllRanksGoOnAlike) {
  Lack lack;
  lack.lasts = Shortage::Lasts::to_its_end;
  Endings endings;
  fail_every_allocation(lack, endings);
  EXPECT_GT(endings.refused, 0u);
  EXPECT_GT(endings.handed_over, 0u);
}

TEST(MemoryOfARank, IsShortWhereThereAreLevelsAndAllRanksGoOnAlike) {
  Lack lack;
  lack.options.levels = "0,1|2";
  lack.options.algorithm = "direct,ring";
  Endings endings;
  fail_every_allocation(lack, endings);
  EXPECT_GT(endings.refused, 0u);
  EXPECT_GT(endings.handed_over, 0u);
}

TEST(MemoryOfARank, IsShortInATrialAndAllRanksGoOnAlike) {
  for (const auto lasts : {Shortage::Lasts::one_time, Shortage::Lasts::to_its_end}) {
    Lack lack;
    lack.begins = Lack::Begins::with_the_calls;
    lack.lasts = lasts;
    Endings endings;
    fail_every_allocation(lack, endings);
    EXPECT_EQ(endings.refused, 0u);
    EXPECT_GT(endings.handed_over, 0u);
  }
}

} // namespace
} // namespace strata::comm::lack_of_memory
