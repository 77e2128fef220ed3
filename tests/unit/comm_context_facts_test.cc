// SPDX-License-Identifier: BSD-3-Clause
// What contexts count, agree on, and do when something is missing.
#include "context_calls.h"
#include "delaying_transport.h"
#include "thread_bootstrap.h"

#include <gtest/gtest.h>

namespace strata::comm {
namespace {

using type::Element;
using type::Operation;

constexpr std::int64_t two_slices = 1440; // of float32, in slices of 4 KiB

Options forced(const char* algorithm, const char* levels) {
  Options options = ThreadJob::options_for_tests();
  options.algorithm = algorithm;
  options.levels = levels;
  options.slice = 4096;
  return options;
}

TEST(ContextStatistics, HaveTheBytesOfTheFormulaForEveryLevel) {
  ThreadJob job(6, forced("direct+ring", "3x2"));
  job.run_in_context([&](Context& context) {
    EXPECT_EQ(fault_of(context, {two_slices}), "");
    EXPECT_EQ(fault_of(context, {two_slices, Element::float32, Operation::sum, Place::same}), "");
    const Statistics statistics = context.statistics();
    const std::uint64_t bytes = 2 * 4 * two_slices;
    EXPECT_EQ(statistics.sent_by_level.at("level0").bytes, bytes * 2 * 2 / 3);
    EXPECT_EQ(statistics.sent_by_level.at("level0").calls, 2u * 2 * (2 * 2));
    EXPECT_EQ(statistics.sent_by_level.at("level1").bytes, bytes / 3 * 2 / 2);
    EXPECT_EQ(statistics.sent_by_level.at("level1").calls, 2u * 2 * 2);
    // In memory one copy serves all readers: two chunks to one peer each, one to both; the ring sends its halves twice.
    EXPECT_EQ(statistics.sent_by_transport.at("loop").bytes, bytes * 2 / 3 + bytes / 3 + bytes / 3);
    EXPECT_EQ(statistics.sent_by_transport.at("loop").calls, 2u * 2 * (2 + 1 + 2));
    EXPECT_EQ(statistics.by_algorithm.size(), 1u);
    EXPECT_EQ(statistics.by_algorithm.begin()->second.calls, 2u);
    EXPECT_EQ(statistics.by_algorithm.begin()->second.bytes, bytes);
    EXPECT_TRUE(statistics.native_by_reason.empty());
  });
}

TEST(ContextStatistics, OfAProcessAreTheSumOfItsContexts) {
  ThreadJob job(2);
  for (int i = 0; i < 3; ++i)
    job.run_in_context([&](Context& context) {
      EXPECT_EQ(fault_of(context, {1}), "");
      EXPECT_EQ(fault_of(context, {20000}), "");
    });
  const Statistics& sum = job.process(1).statistics();
  EXPECT_EQ(sum.contexts, 3u);
  Tally all;
  for (const auto& [algorithm, tally] : sum.by_algorithm)
    all += tally;
  EXPECT_EQ(all.calls, 6u);
  EXPECT_EQ(all.bytes, 3u * (4 + 80000));
}

TEST(ContextStatistics, OfARankAloneSendNothing) {
  ThreadJob job(1);
  job.run_in_context([&](Context& context) {
    for (std::int64_t count : {1, 100, 5000, 100003})
      EXPECT_EQ(fault_of(context, {count}), "");
    EXPECT_TRUE(context.statistics().sent_by_level.empty());
  });
  EXPECT_EQ(job.failures[0], "");
}

TEST(Context, UsesTheOptionsOfRankZeroAndSaysWhichDiffered) {
  std::vector<Options> options(3, forced("ring", ""));
  options[2].algorithm = "direct";
  options[2].slice = 65536;
  ThreadJob job(options);
  job.run_in_context([&](Context& context) {
    EXPECT_EQ(context.options().algorithm, "ring");
    EXPECT_EQ(fault_of(context, {5000}), "");
    ASSERT_EQ(context.warnings().size(), 2u);
    EXPECT_EQ(context.warnings()[0], "rank 2 has another STRATA_ALGORITHM than rank 0; rank 0's is used");
    EXPECT_EQ(context.warnings()[1], "rank 2 has another STRATA_SLICE than rank 0; rank 0's is used");
  });
}

/// Levels as a person writes them for a large job, longer than what a rank says of itself at first.
TEST(Context, AgreesOnOptionsOfAnyLength) {
  std::vector<Options> options(4, ThreadJob::options_for_tests());
  options[0].levels = "0,1|2,3" + std::string(3000, ' ');
  ThreadJob job(options);
  job.run_in_context([&](Context& context) {
    EXPECT_EQ(context.hierarchy().levels.size(), 2u);
    EXPECT_EQ(fault_of(context, {5000}), "");
  });
}

TEST(Context, GoesNativeOnAllRanksWhenOneHasNoRoomForAPlan) {
  std::vector<Options> options(4, forced("direct", ""));
  options[2].segment = 64 << 10;
  for (Options& one : options) {
    one.slice = 65536;
    one.window = 4;
  }
  ThreadJob job(options);
  job.run_in_context([&](Context& context) {
    std::vector<float> vector(50000, 1.0f);
    const Call call{vector.data(), vector.data(), 50000, Element::float32, Operation::sum};
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(context.all_reduce(call), Outcome::native);
    EXPECT_EQ(vector, std::vector<float>(50000, 1.0f));
    EXPECT_EQ(context.statistics().native_by_reason.begin()->second.calls, 3u);
  });
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(job.process(rank).shared_memory(nullptr)->segment().leased_bytes(), 0u) << rank;
}

TEST(Context, GoesOnWithWhatFitsWhenAPlanDidNot) {
  std::vector<Options> options(3, ThreadJob::options_for_tests());
  options[1].segment = 4 * tune::board_piece_bytes(3) + (16 << 10);
  ThreadJob job(options);
  std::vector<std::string> outcomes(3);
  job.run_in_context([&](Context& context) {
    for (std::int64_t count : {10, 500000, 10, 3000, 500000}) {
      std::vector<float> vector(static_cast<std::size_t>(count), 1.0f);
      const Outcome outcome =
          context.all_reduce({vector.data(), vector.data(), count, Element::float32, Operation::sum});
      EXPECT_EQ(vector, std::vector<float>(vector.size(), outcome == Outcome::done ? 3.0f : 1.0f));
      outcomes[static_cast<std::size_t>(context.rank())] += outcome == Outcome::done ? 'd' : 'n';
    }
  });
  EXPECT_EQ(outcomes[1], outcomes[0]);
  EXPECT_EQ(outcomes[2], outcomes[0]);
  EXPECT_EQ(outcomes[0][0], 'd');
}

TEST(Context, IsRefusedOnAllRanksWhenNoTransportWorks) {
  Options options = ThreadJob::options_for_tests();
  options.transports = "carrier_pigeon";
  ThreadJob job(3, options);
  job.run_in_context([](Context&) { ADD_FAILURE() << "a context was made"; });
  for (const std::string& failure : job.failures)
    EXPECT_NE(failure.find("carrier_pigeon"), std::string::npos) << failure;
}

TEST(Context, IsRefusedOnAllRanksWhenATransportFailsOnOne) {
  delaying::Office office(1);
  Options options = ThreadJob::options_for_tests();
  options.transports = "delaying";
  std::atomic<int> asked{0};
  const auto make = [&](const Options&, Device*) -> Result<std::unique_ptr<transport::Transport>> {
    if (asked++ == 1) return Error{ErrorKind::resource, "no cable"};
    return std::unique_ptr<transport::Transport>(std::make_unique<delaying::Transport>(office));
  };
  ThreadJob job(3, options, {{"delaying", make}});
  job.run_in_context([](Context&) { ADD_FAILURE() << "a context was made"; });
  for (const std::string& failure : job.failures)
    EXPECT_NE(failure, "");
}

TEST(Context, RunsOverMessagesThatAreLateAndOutOfOrder) {
  delaying::Office office(std::random_device{}());
  const auto make = [&](const Options&, Device*) -> Result<std::unique_ptr<transport::Transport>> {
    return std::unique_ptr<transport::Transport>(std::make_unique<delaying::Transport>(office));
  };
  for (const char* algorithm : {"", "direct+ring", "direct.leader+binomial.exchange", "ring+recursive_halving"}) {
    Options options = forced(algorithm, "2x2");
    options.transports = "delaying";
    ThreadJob job(4, options, {{"delaying", make}});
    job.run_in_context([&](Context& context) {
      for (std::int64_t count : {1, 9, 2500, 10007})
        EXPECT_EQ(fault_of(context, {count, Element::int16, Operation::sum, Place::same}), "");
      EXPECT_EQ(context.transport_by_rank()[static_cast<std::size_t>(context.rank() ^ 1)], "delaying");
    });
    EXPECT_EQ(job.failures[0], "");
    EXPECT_EQ(office.complaints(), "");
  }
}

} // namespace
} // namespace strata::comm
