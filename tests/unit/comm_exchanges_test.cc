// SPDX-License-Identifier: BSD-3-Clause
// An exchange of the bootstrap that fails on one rank, anywhere while a context is made, decides or tries: no rank
// hangs, none goes on alone.
#include "delaying_transport.h"
#include "device_calls.h"
#include "machines_bootstrap.h"
#include "sharing_driver.h"
#include "thread_bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>

namespace strata::comm::exchanges_that_fail {
namespace {

/// One exchange fails where it is told to, on this rank only: it takes part, and hears nothing. All but those by which
/// AllOrNone agrees and nothing else, for of these nobody can tell the others.
class FailsOnce final : public Bootstrap {
public:
  explicit FailsOnce(std::unique_ptr<Bootstrap> exchanges) : exchanges_(std::move(exchanges)) {}
  std::int32_t rank() const override { return exchanges_->rank(); }
  std::int32_t ranks() const override { return exchanges_->ranks(); }
  void wait_for_all(engine::IdleHook meanwhile) override { exchanges_->wait_for_all(meanwhile); }
  engine::IdleHook idle_hook() const override { return exchanges_->idle_hook(); }
  Status all_gather(const void* mine, void* all, std::size_t bytes) override {
    if (!armed_ || AllOrNone::is_vote_alone(mine, bytes) || before_-- > 0)
      return exchanges_->all_gather(mine, all, bytes);
    armed_ = false;
    failed_ = true;
    std::vector<std::byte> heard(bytes * static_cast<std::size_t>(ranks()));
    (void)exchanges_->all_gather(mine, heard.data(), bytes);
    return Error{ErrorKind::peer, "this exchange was to fail"};
  }

  /// After so many more.
  void fail_after(std::uint64_t exchanges) {
    armed_ = true;
    before_ = exchanges;
  }
  bool has_failed() const { return failed_; }

private:
  std::unique_ptr<Bootstrap> exchanges_;
  bool armed_ = false, failed_ = false;
  std::uint64_t before_ = 0;
};

/// Sums of 1, 2 and so on. The first element tells the others, beside that, whether this rank has lost patience.
class Caller {
public:
  Caller(std::int32_t rank, std::size_t count) : mine_(rank + 1), input_(count, mine_), output_(count) {}
  /// With vectors on a device of the rank's own.
  Caller(std::int32_t rank, std::size_t count, Accelerator& accelerator) : Caller(rank, count) {
    for (auto* memory : {&send_, &receive_})
      *memory = std::make_unique<KindOfMemory>(accelerator, device::Kind::device, rank, bytes(), 0);
  }
  const char* call(Context& context, bool has_patience = true) {
    std::fill(output_.begin(), output_.end(), 0);
    input_.front() = has_patience ? mine_ : mine_ + impatient;
    Call call{input_.data(), output_.data(), static_cast<std::int64_t>(input_.size()), type::Element::int32,
              type::Operation::sum};
    if (send_) {
      call.input = send_->pointer();
      call.output = receive_->pointer();
      std::memcpy(send_->reach(bytes()), input_.data(), bytes());
    }
    const Outcome outcome = context.all_reduce(call);
    if (receive_) std::memcpy(output_.data(), receive_->reach(bytes()), bytes());
    if (outcome == Outcome::native_on_trial) context.native_done(call);
    if (outcome == Outcome::peer_lost) return " lost";
    if (outcome != Outcome::done) return " native";
    const std::int32_t sum = context.ranks() * (context.ranks() + 1) / 2;
    const bool first = output_.front() % impatient == sum;
    all_have_patience_ = output_.front() == sum;
    return first && std::all_of(output_.begin() + 1, output_.end(), [&](auto one) { return one == sum; }) ? " done"
                                                                                                          : " wrong";
  }
  bool all_have_patience() const { return all_have_patience_; }
  std::size_t bytes() const { return input_.size() * sizeof(std::int32_t); }

private:
  static constexpr std::int32_t impatient = 1000;
  std::int32_t mine_;
  std::vector<std::int32_t> input_, output_;
  std::unique_ptr<KindOfMemory> send_, receive_; ///< null: the vectors are in the host's memory
  bool all_have_patience_ = true;
};

/// What came of it: by rank, "an error", or what became of each call.
struct Ending {
  bool failed = false;
  std::size_t kept_bytes = 0; ///< of rank 1's shared memory, when its context is gone
  std::vector<std::string> by_rank;
};

/// What the ranks of a job are like.
struct Ranks {
  int number = 3;
  bool of_two_machines = false, on_devices = false;
  Options options = ThreadJob::options_for_tests();
};

Ending ending_of(const Ranks& ranks, std::uint64_t exchanges_before) {
  delaying::Office office(1);
  const auto make = [&](const Options&, Device*) -> Result<std::unique_ptr<transport::Transport>> {
    return std::unique_ptr<transport::Transport>(std::make_unique<delaying::Transport>(office));
  };
  ThreadJob job(ranks.number, ranks.options, {{"delaying", make}});
  DeviceJob device;
  device.accelerator->faults.devices = ranks.number;
  if (ranks.on_devices) device.give_devices<device::SharingDriver>(job);
  Ending ending;
  ending.by_rank.resize(static_cast<std::size_t>(ranks.number));
  job.run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
    std::unique_ptr<Bootstrap> exchanges = std::make_unique<ThreadBootstrap>(meeting, rank);
    if (ranks.of_two_machines) exchanges = std::make_unique<MachinesBootstrap>(job, meeting, rank);
    auto bootstrap = std::make_unique<FailsOnce>(std::move(exchanges));
    FailsOnce& failing = *bootstrap; // the context keeps it
    if (rank == 1) failing.fail_after(exchanges_before);
    std::string& text = ending.by_rank[static_cast<std::size_t>(rank)];
    const auto context = Context::create(job.process(rank), std::move(bootstrap));
    if (!context) {
      text = "an error";
      if (rank == 1) ending.failed = true;
      return;
    }
    const auto caller_of = [&](std::size_t count) {
      return ranks.on_devices ? Caller(rank, count, *device.accelerator) : Caller(rank, count);
    };
    Caller of_few = caller_of(1), of_many = caller_of(3000);
    for (int repeat = 0; repeat < 100; ++repeat) // some rounds of a trial
      for (Caller* caller : {&of_few, &of_many})
        text += caller->call(**context);
    if (rank == 1) ending.failed = failing.has_failed();
  });
  ending.kept_bytes = job.process(1).shared_memory(nullptr)->segment().leased_bytes();
  return ending;
}

/// How many jobs ended in which way, over all exchanges that can fail.
struct Endings {
  std::size_t refused = 0, handed_over = 0;
  std::size_t keeping = 0; ///< of the latter, those in which rank 1 keeps what the others may take for made
};

Endings fail_every_exchange(const Ranks& ranks) {
  constexpr std::uint64_t most = 60; // where instruments make calls long, there is one for each call of a trial
  Endings endings;
  for (std::uint64_t before = 0; before < most; ++before) {
    const Ending ending = ending_of(ranks, before);
    if (!ending.failed) break;
    const std::string& text = ending.by_rank[0];
    for (const std::string& other : ending.by_rank)
      EXPECT_EQ(text, other) << "after " << before << " exchanges";
    EXPECT_EQ(text.find("wrong"), std::string::npos) << "after " << before << " exchanges";
    EXPECT_EQ(text.find("lost"), std::string::npos) << "after " << before << " exchanges";
    if (text == "an error")
      ++endings.refused;
    else if (text.find("native") != std::string::npos)
      ++endings.handed_over;
    if (ending.kept_bytes > 0) ++endings.keeping;
    if (::testing::Test::HasFailure()) break;
  }
  return endings;
}

TEST(AnExchange, FailsWhileAContextIsMadeOrDecides) {
  Ranks ranks;
  ranks.options.tune = Tune::model;
  const Endings endings = fail_every_exchange(ranks);
  EXPECT_GT(endings.refused, 0u);
  EXPECT_GT(endings.handed_over, 0u);
  EXPECT_GE(endings.keeping, 2u) << "a board, in whose making there are two exchanges";
  EXPECT_LE(endings.keeping, endings.handed_over) << "a context that was refused had announced nothing";
}

TEST(AnExchange, FailsInATrial) {
  const Endings of_trial = fail_every_exchange({});
  EXPECT_GT(of_trial.refused, 0u);
  Ranks without_trial;
  without_trial.options.tune = Tune::model;
  EXPECT_GT(of_trial.handed_over, fail_every_exchange(without_trial).handed_over);
}

TEST(AnExchange, FailsWhereThereAreLevels) {
  Ranks ranks;
  ranks.options.levels = "0,1|2";
  ranks.options.algorithm = "direct,ring";
  const Endings endings = fail_every_exchange(ranks);
  EXPECT_GT(endings.refused, 0u);
  EXPECT_GT(endings.handed_over, 0u);
  EXPECT_GE(endings.keeping, 2u) << "a plan";
}

/// Where ranks map each other's slots, and try their flags.
TEST(AnExchange, FailsWhereThereAreDevices) {
  Ranks ranks;
  ranks.on_devices = true;
  ranks.options.algorithm = "direct";
  const Endings endings = fail_every_exchange(ranks);
  EXPECT_GT(endings.refused, 0u);
  EXPECT_GE(endings.handed_over, 6u) << "cards, announcements and their lengths, rows, flags that were set and seen";
  EXPECT_GE(endings.keeping, 6u);
}

/// Where ranks wait for each other to be reached, and measure links.
TEST(AnExchange, FailsBetweenMachines) {
  Ranks ranks;
  ranks.number = 4;
  ranks.of_two_machines = true;
  ranks.options.transports = "loop,delaying";
  const Endings endings = fail_every_exchange(ranks);
  EXPECT_GT(endings.refused, 0u);
  EXPECT_GT(endings.handed_over, 2u);
}

/// A look at how long calls take, after the trial.
TEST(AnExchange, FailsInALook) {
  const Options options = ThreadJob::options_for_tests();
  ThreadJob job({options, options}, {}, ThreadJob::Cores::all);
  std::array<std::uint64_t, 2> calls_of_strata{};
  std::atomic<bool> too_slow = false;
  job.run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
    auto bootstrap = std::make_unique<FailsOnce>(std::make_unique<ThreadBootstrap>(meeting, rank));
    FailsOnce& failing = *bootstrap;
    const auto context = Context::create(job.process(rank), std::move(bootstrap));
    ASSERT_TRUE(context);
    Caller caller(rank, 4096);
    ASSERT_STREQ(caller.call(**context), " done");
    ASSERT_TRUE((*context)->on_trial(caller.bytes()));
    // A look comes every eighth of a second, where nothing else has the cores.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    bool armed = false;
    std::uint64_t& calls = calls_of_strata[static_cast<std::size_t>(rank)];
    const char* outcome = " done";
    while (std::strcmp(outcome, " done") == 0) {
      outcome = caller.call(**context, std::chrono::steady_clock::now() < end);
      if (!caller.all_have_patience()) {
        too_slow = true;
        return;
      }
      if (!std::exchange(armed, armed || !(*context)->on_trial(caller.bytes())) && armed && rank == 1)
        failing.fail_after(0);
      ++calls;
    }
    EXPECT_STREQ(outcome, " native");
    EXPECT_TRUE(armed);
    EXPECT_EQ(failing.has_failed(), rank == 1);
  });
  if (too_slow) GTEST_SKIP() << "this machine has too much else to do";
  EXPECT_EQ(calls_of_strata[0], calls_of_strata[1]);
}

} // namespace
} // namespace strata::comm::exchanges_that_fail
