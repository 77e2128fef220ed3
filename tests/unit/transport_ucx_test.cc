// SPDX-License-Identifier: BSD-3-Clause
// Messages over UCX, and what becomes of peers that are gone. Those from and to where they belong are in
// transport_ucx_straight_test.cc.
#include "ucx_world.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

namespace strata::transport {
namespace {

/// What the program had before anything loaded UCX.
const auto dispositions_before = [] {
  std::array<struct sigaction, NSIG> found{};
  for (int signal = 1; signal < NSIG; ++signal)
    sigaction(signal, nullptr, &found[static_cast<std::size_t>(signal)]);
  return found;
}();

TEST_F(UcxTransportTest, CarriesMessagesOfEverySizeBothWaysInSeveralSlicesAtOnce) {
  constexpr std::uint64_t window = 4, slices = 9;
  std::uint32_t plan = 0;
  for (const std::size_t bytes : {1u, 8u, 1000u, 4096u, 9000u, 32768u, 70000u, 262143u, 262144u, 1048576u}) {
    const ChannelShape shape_of_0{plan, window, {outgoing({1}, 0, bytes)}, {incoming(1, 0, bytes)}};
    const ChannelShape shape_of_1{plan, window, {outgoing({0}, 0, bytes)}, {incoming(0, 0, bytes)}};
    ++plan;
    const std::array<std::unique_ptr<Channel>, 2> channels{channel(0, shape_of_0), channel(1, shape_of_1)};
    connect({channels[0].get(), channels[1].get()});
    std::vector<std::vector<unsigned char>> sent;
    for (std::uint64_t slice = 0; slice < slices; ++slice)
      sent.push_back(pattern(bytes, slice));
    for (std::uint64_t first = 0; first < slices; first += window) {
      const std::uint64_t end = std::min(first + window, slices);
      for (const auto& channel : channels)
        for (std::uint64_t slice = first; slice < end; ++slice)
          ASSERT_TRUE(channel->start_send(0, slice, sent[slice].data(), bytes));
      for (const auto& channel : channels)
        for (std::uint64_t slice = first; slice < end; ++slice) {
          ASSERT_TRUE(wait_for([&] {
            for (const auto& each : channels)
              each->progress();
            return channel->arrived(0, slice) != nullptr && channel->sent(0, slice);
          })) << bytes
              << " bytes, slice " << slice << ": "
              << (channel->failure() == nullptr ? "nothing came" : channel->failure());
          EXPECT_EQ(channel->arrived_bytes(0, slice), bytes);
          EXPECT_EQ(std::memcmp(channel->arrived(0, slice), sent[slice].data(), bytes), 0) << bytes << " bytes";
          channel->release(0, slice);
          channel->finished(slice);
        }
    }
    for (const auto& channel : channels) {
      EXPECT_TRUE(wait_for([&] { return channel->flushed() && channel->quiescent(); }));
      EXPECT_EQ(channel->failure(), nullptr);
      EXPECT_EQ(channel->traffic().bytes, bytes * slices);
    }
  }
}

TEST_F(UcxTransportTest, SendsToASetOfPeers) {
  const auto from = channel(0, {0, 1, {outgoing({1, 2}, 0, 64)}, {}});
  const auto first = channel(1, {0, 1, {}, {incoming(0, 0, 64)}});
  const auto second = channel(2, {0, 1, {}, {incoming(0, 0, 64)}});
  connect({from.get(), first.get(), second.get()});
  ASSERT_TRUE(from->start_send(0, 0, "to both", 8));
  EXPECT_TRUE(wait_for([&] {
    from->progress();
    first->progress();
    second->progress();
    return first->arrived(0, 0) != nullptr && second->arrived(0, 0) != nullptr;
  }));
  EXPECT_STREQ(static_cast<const char*>(first->arrived(0, 0)), "to both");
  EXPECT_STREQ(static_cast<const char*>(second->arrived(0, 0)), "to both");
  EXPECT_EQ(from->traffic().messages, 2u);
}

TEST_F(UcxTransportTest, IsFlushedWithoutTheReceiversHelpAndThenNeedsNoMoreProgress) {
  const auto from = channel(0, {0, 1, {outgoing({1}, 0, 4096)}, {}});
  const auto to = channel(1, {0, 1, {}, {incoming(0, 0, 4096)}});
  connect({from.get(), to.get()});
  const auto sent = pattern(4096, 3);
  ASSERT_TRUE(from->start_send(0, 0, sent.data(), sent.size()));
  ASSERT_TRUE(wait_for([&] {
    from->progress();
    return from->flushed();
  })) << "the receiver had to help";
  EXPECT_TRUE(wait_for([&] {
    to->progress();
    return to->arrived(0, 0) != nullptr;
  })) << "the sender had to be called again before the message came";
}

TEST_F(UcxTransportTest, IsFlushedByEachProcessAloneWhereMessagesGoOnlyOneWay) {
  std::vector<std::unique_ptr<Channel>> ring;
  for (std::int32_t self = 0; self < 3; ++self)
    ring.push_back(channel(self, {0, 1, {outgoing({(self + 1) % 3}, 0, 8)}, {incoming((self + 2) % 3, 0, 8)}}));
  connect({ring[0].get(), ring[1].get(), ring[2].get()});
  for (const auto& each : ring)
    ASSERT_TRUE(each->start_send(0, 0, "x", 1));
  for (const auto& each : ring)
    EXPECT_TRUE(wait_for([&] {
      each->progress();
      return each->arrived(0, 0) != nullptr && each->flushed();
    })) << "the others had to help";
}

TEST_F(UcxTransportTest, IsNotFlushedWhileTheSocketsAreFull) {
  constexpr std::uint64_t slices = 256; // 16 MiB, more than a connection buffers
  const auto from = channel(0, {0, slices, {outgoing({1}, 0, 65536)}, {}});
  const auto to = channel(1, {0, slices, {}, {incoming(0, 0, 65536)}});
  connect({from.get(), to.get()});
  const auto sent = pattern(65536, 3);
  for (std::uint64_t slice = 0; slice < slices; ++slice)
    ASSERT_TRUE(from->start_send(0, slice, sent.data(), sent.size()));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (std::chrono::steady_clock::now() < end) {
    from->progress();
    ASSERT_FALSE(from->flushed());
  }
  EXPECT_TRUE(wait_for([&] {
    from->progress();
    to->progress();
    return from->flushed() && from->quiescent();
  }));
  EXPECT_TRUE(wait_for([&] {
    to->progress();
    return to->arrived(0, slices - 1) != nullptr;
  }));
}

TEST_F(UcxTransportTest, LeavesACallWhileAnotherOneWaitsForAPeerThatIsElsewhere) {
  constexpr std::uint64_t slices = 256; // 16 MiB, more than a connection buffers
  const auto from = channel(0, {0, slices, {outgoing({1}, 0, 65536)}, {}}, 1);
  const auto to = channel(1, {0, slices, {}, {incoming(0, 0, 65536)}}, 1);
  const auto other = channel(0, {0, 1, {outgoing({1}, 0, 8)}, {}}, 2);
  const auto end_of_other = channel(1, {0, 1, {}, {incoming(0, 0, 8)}}, 2);
  connect({from.get(), to.get(), other.get(), end_of_other.get()});
  from->begin_call();
  other->begin_call();
  ASSERT_TRUE(other->start_send(0, 0, "other", 6));
  const auto sent = pattern(65536, 3);
  for (std::uint64_t slice = 0; slice < slices; ++slice)
    ASSERT_TRUE(from->start_send(0, slice, sent.data(), sent.size()));
  EXPECT_TRUE(wait_for([&] { return other->flushed(); })) << "it waited for the other channel's messages";
  EXPECT_FALSE(from->flushed()) << "nobody would see to the messages";
  EXPECT_TRUE(wait_for([&] {
    from->progress();
    to->progress();
    return from->flushed() && from->quiescent() && end_of_other->arrived(0, 0) != nullptr;
  }));
}

TEST_F(UcxTransportTest, TakesBackWhatNobodyReadsWhenItsCallIsGivenUp) {
  constexpr std::uint64_t slices = 256;
  const auto from = channel(0, {0, slices, {outgoing({1}, 0, 65536)}, {}});
  const auto to = channel(1, {0, slices, {}, {incoming(0, 0, 65536)}});
  connect({from.get(), to.get()});
  from->begin_call();
  {
    const auto sent = pattern(65536, 3);
    for (std::uint64_t slice = 0; slice < slices; ++slice)
      ASSERT_TRUE(from->start_send(0, slice, sent.data(), sent.size()));
    ASSERT_FALSE(from->quiescent());
    from->give_up_call();
    EXPECT_TRUE(from->quiescent());
  }
  EXPECT_NE(from->failure(), nullptr);
}

TEST_F(UcxTransportTest, GivesUpAPeerThatDoesNotAnswerAndStillServesTheOthers) {
  auto nobody = channel(0, {0, 1, {outgoing({2}, 0, 8)}, {}});
  ASSERT_TRUE(nobody->connect({}));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < end) {
    nobody->progress();
    ASSERT_FALSE(nobody->connected());
  }
  nobody.reset();
  const auto from = channel(0, {1, 1, {outgoing({1}, 0, 8)}, {}});
  const auto to = channel(1, {1, 1, {}, {incoming(0, 0, 8)}});
  connect({from.get(), to.get()});
  ASSERT_TRUE(from->start_send(0, 0, "hello", 6));
  EXPECT_TRUE(wait_for([&] {
    from->progress();
    to->progress();
    return from->flushed() && to->arrived(0, 0) != nullptr;
  }));
}

TEST_F(UcxTransportTest, SaysThatAPeerRefusesTheConnection) {
  transports_[1].reset(); // its address is known, and nobody listens there any more
  const auto links = std::move(*transports_[0]->link(addresses_, 0, {true, true, true}));
  const auto from = links->prepare({0, 1, {outgoing({1}, 0, 8)}, {}});
  // Between machines the refusal comes later.
  const std::string why = from ? why_not_connected(**from) : from.error().message;
  EXPECT_NE(why.find("rank 1"), std::string::npos) << why;
}

TEST_F(UcxTransportTest, SaysThatAPeerIsGoneBeforeItHasConnected) {
  const auto from = channel(0, {0, 1, {outgoing({1}, 0, 8)}, {}});
  transports_[1].reset();
  const std::string why = why_not_connected(*from);
  EXPECT_NE(why.find("rank 1"), std::string::npos) << why;
}

TEST_F(UcxTransportTest, RefusesMessagesOfAWrongSize) {
  std::uint32_t plan = 0;
  for (const std::size_t bytes : {100u, 100000u, 1000000u}) {
    const auto from = channel(0, {plan, 1, {outgoing({1}, 0, bytes)}, {}});
    const auto to = channel(1, {plan, 1, {}, {incoming(0, 0, bytes - 1)}});
    ++plan;
    connect({from.get(), to.get()});
    const auto sent = pattern(bytes, 1);
    ASSERT_TRUE(from->start_send(0, 0, sent.data(), bytes));
    ASSERT_TRUE(wait_for([&] {
      from->progress();
      to->progress();
      return to->failure() != nullptr && from->sent(0, 0);
    })) << bytes
        << " bytes were taken where fewer are allowed";
    EXPECT_EQ(to->arrived(0, 0), nullptr);
    EXPECT_NE(std::strstr(to->failure(), "rank 0 sent "), nullptr) << to->failure();
  }
}

TEST_F(UcxTransportTest, SaysThatAPeerIsGone) {
  const auto from = channel(0, {0, 1, {outgoing({1}, 0, 64)}, {}});
  {
    const auto to = channel(1, {0, 1, {}, {incoming(0, 0, 64)}});
    connect({from.get(), to.get()});
    ASSERT_TRUE(from->start_send(0, 0, "x", 1));
    ASSERT_TRUE(wait_for([&] {
      from->progress();
      to->progress();
      return to->arrived(0, 0) != nullptr;
    }));
  }
  links_.pop_back();
  transports_[1].reset();
  std::uint64_t slice = 1;
  EXPECT_TRUE(wait_for([&] {
    from->progress();
    if (from->sent(0, slice - 1) && from->start_send(0, slice, "x", 1)) ++slice;
    from->flushed();
    return from->failure() != nullptr;
  }));
  ASSERT_NE(from->failure(), nullptr);
  EXPECT_NE(std::strstr(from->failure(), "rank 1"), nullptr) << from->failure();
}

TEST_F(UcxTransportTest, ServesTwoThreadsInTwoContexts) {
  constexpr std::uint64_t slices = 200;
  std::array<std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>, 2> ends; // by context
  const auto exchange = [&](std::uint64_t context, std::size_t bytes) {
    // Both processes' sides run on this thread; the other thread uses the same two transports.
    const auto a = ends[context].first.get();
    const auto b = ends[context].second.get();
    const auto sent = pattern(bytes, context);
    for (std::uint64_t slice = 0; slice < slices; ++slice) {
      if (!wait_for([&] { return a->start_send(0, slice, sent.data(), bytes); })) return false;
      const bool came = wait_for([&] {
        a->progress();
        b->progress();
        return b->arrived(0, slice) != nullptr && a->sent(0, slice);
      });
      if (!came || std::memcmp(b->arrived(0, slice), sent.data(), bytes) != 0) return false;
      b->release(0, slice);
      b->finished(slice);
    }
    return true;
  };
  for (std::uint64_t context = 0; context < 2; ++context) {
    const std::size_t bytes = context == 0 ? 5000 : 300000;
    ends[context] = {channel(0, {0, 1, {outgoing({1}, 0, bytes)}, {}}, context),
                     channel(1, {0, 1, {}, {incoming(0, 0, bytes)}}, context)};
    connect({ends[context].first.get(), ends[context].second.get()});
  }
  bool first = false;
  std::thread other([&] { first = exchange(0, 5000); });
  EXPECT_TRUE(exchange(1, 300000));
  other.join();
  EXPECT_TRUE(first);
}

TEST_F(UcxTransportTest, LeavesTheSignalDispositionsOfTheProgramAlone) {
  // SetUp has loaded UCX already; loading it must not have changed what the test's process started with.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGHUP}) {
    struct sigaction now {};
    ASSERT_EQ(sigaction(signal, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, dispositions_before[static_cast<std::size_t>(signal)].sa_handler) << "signal " << signal;
  }
}

TEST_F(UcxTransportTest, IsNotForAMachineWithoutNetworkDevices) {
  setenv("UCX_NET_DEVICES", "none-such", 1);
  const auto transport = open_ucx(with_modules_of_this_build());
  unsetenv("UCX_NET_DEVICES");
  ASSERT_FALSE(transport);
  EXPECT_NE(transport.error().message.find("no network device"), std::string::npos) << transport.error().message;
}

TEST(UcxLoader, SaysWhyThereIsNoUcx) {
  Options options;
  options.module_path = "/nonexistent";
  const auto transport = open_ucx(options);
  ASSERT_FALSE(transport);
  EXPECT_NE(transport.error().message.find("ucx.so"), std::string::npos) << transport.error().message;
}

} // namespace
} // namespace strata::transport
