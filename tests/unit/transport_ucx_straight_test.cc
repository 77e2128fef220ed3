// SPDX-License-Identifier: BSD-3-Clause
// Long messages over UCX that are received where they belong.
#include "ucx_world.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <unistd.h>

namespace strata::transport {
namespace {

TEST_F(UcxTransportTest, PutsALongMessageWhereItsChannelWantsIt) {
  constexpr std::size_t bytes = 1048576;
  constexpr std::uint64_t window = 2, slices = 4;
  const auto from = channel(0, {0, window, {outgoing({1}, 0, bytes)}, {}});
  const auto to = channel(1, {0, window, {}, {incoming(0, 0, bytes)}});
  ASSERT_LE(from->least_straight(MemoryKind::host), bytes);
  connect({from.get(), to.get()});
  to->prepare_offers();
  std::vector<std::vector<unsigned char>> places(slices, std::vector<unsigned char>(bytes));
  for (std::uint64_t slice = 0; slice < slices; ++slice) {
    const auto sent = pattern(bytes, slice);
    const bool is_offered = slice != 2; // one that has no place comes as ever
    if (is_offered) to->offer(0, slice, places[slice].data());
    ASSERT_TRUE(from->start_straight(0, slice, sent.data(), bytes));
    ASSERT_TRUE(wait_for([&] {
      from->progress();
      to->progress();
      return to->arrived(0, slice) != nullptr && from->sent(0, slice);
    }));
    EXPECT_EQ(to->arrived(0, slice) == places[slice].data(), is_offered) << "slice " << slice;
    EXPECT_EQ(to->arrived_bytes(0, slice), bytes);
    EXPECT_EQ(std::memcmp(to->arrived(0, slice), sent.data(), bytes), 0);
    to->release(0, slice);
    to->finished(slice);
  }
  // A short one comes with its header, wherever it is wanted.
  const auto brief = pattern(100, 1);
  to->offer(0, slices, places[0].data());
  ASSERT_TRUE(from->start_send(0, slices, brief.data(), brief.size()));
  ASSERT_TRUE(wait_for([&] {
    from->progress();
    to->progress();
    return to->arrived(0, slices) != nullptr;
  }));
  EXPECT_NE(to->arrived(0, slices), places[0].data());
  EXPECT_EQ(std::memcmp(to->arrived(0, slices), brief.data(), brief.size()), 0);
}

/// The function that the module calls: a library that was preloaded goes before UCX's own.
auto version_of_ucx() {
  void* found = dlsym(RTLD_DEFAULT, "ucp_get_version");
  if (found == nullptr) found = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_get_version");
  return reinterpret_cast<void (*)(unsigned*, unsigned*, unsigned*)>(found);
}

TEST_F(UcxTransportTest, TakesNoDeviceMemoryThatUcxDoesNotKnow) {
  const auto from = channel(0, {0, 1, {outgoing({1}, 0, 64)}, {}});
  const bool knows_cuda = transports_[0]->memory_kinds().find("cuda") != std::string::npos;
  unsigned major = 0, minor = 0, release = 0;
  version_of_ucx()(&major, &minor, &release);
  // UCX before 1.15 never ended the reception of some messages in CUDA memory (7921 in its tracker).
  const bool ends_all = major > 1 || (major == 1 && minor >= 15);
  EXPECT_EQ(from->least_straight(MemoryKind::cuda) != SIZE_MAX, knows_cuda && ends_all);
  EXPECT_NE(from->least_straight(MemoryKind::host), SIZE_MAX);
}

/// A long message of which a part is where process 1 wants it, and the rest under way.
class UcxReceptionTest : public UcxTransportTest {
protected:
  void begin() {
    from_ = channel(0, {0, 1, {outgoing({1}, 0, bytes)}, {}});
    to_ = channel(1, {0, 1, {}, {incoming(0, 0, bytes)}});
    connect({from_.get(), to_.get()});
    to_->prepare_offers();
    from_->begin_call();
    to_->begin_call();
    to_->offer(0, 0, place_.data());
    ASSERT_TRUE(from_->start_send(0, 0, sent_.data(), bytes));
    ASSERT_TRUE(wait_for([&] {
      from_->progress();
      to_->progress();
      return place_[0] == sent_[0] && place_[1] == sent_[1];
    }));
    ASSERT_FALSE(to_->quiescent()) << "all of it is there already";
  }
  void TearDown() override {
    from_.reset();
    to_.reset();
    UcxTransportTest::TearDown();
  }

  static constexpr std::size_t bytes = std::size_t{64} << 20; // takes a while
  const std::vector<unsigned char> sent_ = pattern(bytes, 1);
  std::vector<unsigned char> place_ = std::vector<unsigned char>(bytes, 0xee);
  std::unique_ptr<Channel> from_, to_;
};

TEST_F(UcxReceptionTest, IsQuiescentWhenNothingIsWrittenToItsPlaceAnyMore) {
  ASSERT_NO_FATAL_FAILURE(begin());
  to_->give_up_call(); // while the sender is elsewhere
  EXPECT_FALSE(to_->quiescent()) << "the sender has not sent it all, and UCX takes nothing back";
  ASSERT_TRUE(wait_for([&] {
    from_->progress();
    to_->progress();
    return to_->quiescent();
  }));
  EXPECT_EQ(std::memcmp(place_.data(), sent_.data(), bytes), 0);
}

// As when a process ends that did not wait until then.
TEST_F(UcxReceptionTest, OutlivesItsChannel) {
  ASSERT_NO_FATAL_FAILURE(begin());
  to_.reset();
  const auto other = channel(1, {1, 1, {}, {incoming(0, 0, 8)}});
  EXPECT_TRUE(wait_for([&] {
    from_->progress();
    other->progress();
    return from_->sent(0, 0) && place_.back() == sent_.back();
  }));
  EXPECT_EQ(std::memcmp(place_.data(), sent_.data(), bytes), 0);
  EXPECT_EQ(from_->failure(), nullptr);
}

/// In processes of their own, which end with a worker that cannot be ended.
class UcxReceptionDeathTest : public UcxReceptionTest {
protected:
  void SetUp() override {
    UcxReceptionTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  static void progress_for_a_while(Channel& channel) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (std::chrono::steady_clock::now() < end)
      channel.progress();
  }
  [[noreturn]] static void end(const char* what) {
    std::fputs(what, stderr);
    _exit(HasFailure() ? 1 : 0);
  }
};

// UCX does not tell the receiver: who waits for the message finds out otherwise that its peer is gone, and leaves the
// place alone until the process ends.
TEST_F(UcxReceptionDeathTest, IsNotQuiescentWhenTheSenderIsGone) {
  const auto lose_the_sender = [this] {
    begin();
    from_.reset();
    links_.clear();
    transports_[0].reset();
    progress_for_a_while(*to_);
    const char* what = to_->arrived(0, 0) == nullptr ? "waits" : "took a part for all";
    to_->give_up_call();
    const bool all_came = std::equal(place_.begin(), place_.end(), sent_.begin());
    if (to_->quiescent() != all_came) what = "is quiescent";
    to_.reset();
    transports_[1].reset(); // UCX aborts, if it is asked to end such a worker
    end(what);
  };
  EXPECT_EXIT(lose_the_sender(), testing::ExitedWithCode(0), "waits");
}

TEST_F(UcxReceptionDeathTest, EndsWithItsTransport) {
  const auto end_the_receiver = [this] {
    begin();
    to_.reset();
    links_.clear();
    transports_[1].reset();
    const std::vector<unsigned char> received = place_;
    progress_for_a_while(*from_);
    end(place_ == received ? "as it was" : "written to after its transport's end");
  };
  EXPECT_EXIT(end_the_receiver(), testing::ExitedWithCode(0), "as it was");
}

} // namespace
} // namespace strata::transport
