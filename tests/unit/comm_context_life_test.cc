// SPDX-License-Identifier: BSD-3-Clause
// Contexts that come and go, live beside each other, and allocate nothing once they run.
#include "allocations.h"
#include "context_calls.h"
#include "thread_bootstrap.h"

#include <gtest/gtest.h>

namespace strata::comm {
namespace {

using type::Element;
using type::Operation;

TEST(Context, AllocatesNothingInTheSecondCall) {
  ThreadJob job(3);
  job.run_in_context([&](Context& context) {
    std::vector<float> vector(100000, 1.0f);
    for (std::int64_t count : {1, 2000, 100000}) {
      const Call call{vector.data(), vector.data(), count, Element::float32, Operation::maximum};
      context.all_reduce(call);
      const std::uint64_t before = allocations::of_this_thread();
      EXPECT_EQ(context.all_reduce(call), Outcome::done);
      EXPECT_EQ(context.all_reduce(call), Outcome::done);
      EXPECT_EQ(allocations::of_this_thread() - before, 0u) << count << " elements";
    }
  });
}

TEST(Context, GivesItsMemoryBackHoweverOftenItIsMade) {
  ThreadJob job(2);
  std::vector<std::size_t> most(2, 0);
  job.run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
    for (int i = 0; i < 1000; ++i) {
      auto context = Context::create(job.process(rank), std::make_unique<ThreadBootstrap>(meeting, rank));
      ASSERT_TRUE(context);
      float small = 1;
      std::vector<float> large(i % 50 == 0 ? 8000 : 1, 1.0f);
      (*context)->all_reduce({&small, &small, 1, Element::float32, Operation::sum});
      (*context)->all_reduce(
          {large.data(), large.data(), static_cast<std::int64_t>(large.size()), Element::float32, Operation::sum});
      EXPECT_EQ(large.back(), 2.0f);
      auto& leased = most[static_cast<std::size_t>(rank)];
      leased = std::max(leased, job.process(rank).shared_memory(nullptr)->segment().leased_bytes());
    }
  });
  // What one context needs, and what the last one left because its peer was not through with it.
  EXPECT_LT(most[0], std::size_t{4} << 20);
  EXPECT_LT(most[1], std::size_t{4} << 20);
  job.run_in_context([](Context&) {});
  job.run_in_context([](Context&) {});
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(job.process(rank).shared_memory(nullptr)->segment().leased_bytes(), 0u);
}

TEST(Context, LeavesItsMemoryToAPeerThatMayStillRead) {
  ThreadJob job(2);
  job.run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
    ThreadBootstrap bootstrap(meeting, rank);
    const auto meet = [&] { EXPECT_TRUE(gather(bootstrap, 1)); };
    const auto leased = [&] { return job.process(rank).shared_memory(nullptr)->segment().leased_bytes(); };
    const auto make = [&] {
      return std::move(*Context::create(job.process(rank), std::make_unique<ThreadBootstrap>(meeting, rank)));
    };
    auto context = make();
    EXPECT_EQ(fault_of(*context, {1}) + fault_of(*context, {300000}), "");
    meet();
    if (rank == 0) {
      const std::size_t before = leased();
      context.reset();
      EXPECT_EQ(leased(), before);
    }
    meet();
    context.reset();
    meet();
    make().reset(); // looks after what the one before has left
    EXPECT_EQ(leased(), 0u);
  });
}

TEST(Contexts, OfTheSameRanksDoNotDisturbEachOther) {
  ThreadJob job(3);
  Faults faults(3);
  job.run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
    std::vector<std::unique_ptr<Context>> contexts;
    for (int i = 0; i < 4; ++i) {
      auto made = Context::create(job.process(rank), std::make_unique<ThreadBootstrap>(meeting, rank));
      ASSERT_TRUE(made);
      contexts.push_back(std::move(*made));
    }
    for (unsigned i = 0; i < 120; ++i) {
      Context& context = *contexts[i * 7 % 4];
      faults.add(context, fault_of(context, {i % 3 == 0 ? 4097 : 1 + i, Element::int32, Operation::sum}, i));
      if (i % 20 != 19) continue;
      contexts[2].reset();
      auto made = Context::create(job.process(rank), std::make_unique<ThreadBootstrap>(meeting, rank));
      ASSERT_TRUE(made);
      contexts[2] = std::move(*made);
    }
  });
  EXPECT_EQ(faults.text(), "");
}

/// MPI_THREAD_MULTIPLE: every rank has two threads, each in contexts of its own, which come and go.
TEST(Contexts, RunInSeveralThreadsOfAProcessAtOnce) {
  constexpr int ranks = 3, threads = 8;
  ThreadJob job(ranks);
  std::vector<std::shared_ptr<Meeting>> meetings;
  std::vector<std::string> faults(ranks * threads);
  for (int i = 0; i < threads; ++i)
    meetings.push_back(std::make_shared<Meeting>(ranks));
  const auto work = [&](int rank, std::size_t thread, std::string& fault) {
    for (unsigned i = 0; i < 3; ++i) {
      auto context = Context::create(job.process(rank), std::make_unique<ThreadBootstrap>(meetings[thread], rank));
      if (!context) {
        fault += context.error().message;
        return;
      }
      for (std::int64_t count : {3, 4097, 40000, 5})
        fault += fault_of(**context, {count, Element::int16, Operation::sum}, i);
    }
  };
  job.run([&](int rank, const std::shared_ptr<Meeting>&) {
    const auto first = static_cast<std::size_t>(rank * threads);
    std::vector<std::thread> others;
    for (std::size_t thread = 1; thread < threads; ++thread)
      others.emplace_back(work, rank, thread, std::ref(faults[first + thread]));
    work(rank, 0, faults[first]);
    for (std::thread& other : others)
      other.join();
  });
  for (const std::string& fault : faults)
    EXPECT_EQ(fault, "");
}

/// Ranks 0 and 1, and 1 and 2, and all: subsets in which a rank has another number.
TEST(Contexts, OfSubsetsNumberTheirOwnRanks) {
  ThreadJob job(3);
  Faults faults(3);
  const auto lower = std::make_shared<Meeting>(2), upper = std::make_shared<Meeting>(2);
  job.run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
    auto all = Context::create(job.process(rank), std::make_unique<ThreadBootstrap>(meeting, rank));
    std::vector<std::unique_ptr<Context>> contexts;
    if (rank <= 1)
      contexts.push_back(
          std::move(*Context::create(job.process(rank), std::make_unique<ThreadBootstrap>(lower, rank))));
    if (rank >= 1)
      contexts.push_back(
          std::move(*Context::create(job.process(rank), std::make_unique<ThreadBootstrap>(upper, rank - 1))));
    for (unsigned i = 0; i < 30; ++i) {
      for (const auto& context : contexts)
        faults.add(**all, fault_of(*context, {i % 2 == 0 ? 3 : 5000}, i));
      faults.add(**all, fault_of(**all, {i % 2 == 0 ? 3 : 5000}, i));
    }
  });
  EXPECT_EQ(faults.text(), "");
}

TEST(Context, WaitsForARankThatComesLate) {
  ThreadJob job(3);
  Faults faults(3);
  job.run_in_context([&](Context& context) {
    for (int i = 0; i < 6; ++i) {
      if (context.rank() == i % 3) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      faults.add(context, fault_of(context, {i < 3 ? 10 : 20000}));
    }
  });
  EXPECT_EQ(faults.text(), "");
}

} // namespace
} // namespace strata::comm
