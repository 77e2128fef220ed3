// SPDX-License-Identifier: BSD-3-Clause
// Segments, and channels between two ranks of one process, over memory files as between processes and on the heap.
#include "transport/shm/shm_channel.h"

#include "base/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace strata::transport::shm {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

class SegmentTest : public testing::TestWithParam<Backing> {
protected:
  std::unique_ptr<Segment> segment = std::move(*Segment::create(GetParam(), mebibyte));
};

TEST_P(SegmentTest, LeasesZeroesAgainAfterALeaseWasGivenBack) {
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t offset = *segment->lease(10000);
    std::byte* memory = segment->view().at(offset);
    EXPECT_TRUE(std::all_of(memory, memory + 10000, [](std::byte value) { return value == std::byte{0}; }));
    std::memset(memory, 0xff, 10000);
    segment->give_back(offset, 10000);
  }
  EXPECT_EQ(segment->leased_bytes(), 0u);
}

TEST_P(SegmentTest, JoinsWhatIsGivenBackInAnyOrder) {
  const std::size_t order[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}};
  const std::size_t most = mebibyte - 4096; // the first page is the header's
  for (const auto& indices : order) {
    const std::size_t bytes[] = {most / 2, 5000, 4096};
    std::uint64_t offsets[3];
    for (std::size_t i = 0; i < 3; ++i)
      offsets[i] = *segment->lease(bytes[i]);
    EXPECT_FALSE(segment->lease(most / 2));
    for (std::size_t index : indices)
      segment->give_back(offsets[index], bytes[index]);
    const auto everything = segment->lease(most);
    ASSERT_TRUE(everything);
    segment->give_back(*everything, most);
  }
}

TEST_P(SegmentTest, SaysWhichOptionMakesRoomWhenItIsFull) {
  const auto refused = segment->lease(2 * mebibyte);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(contains(refused.error().message, "STRATA_SEGMENT")) << refused.error().message;
}

TEST_P(SegmentTest, IsMappedByItsAddress) {
  const std::uint64_t offset = *segment->lease(100);
  std::memcpy(segment->view().at(offset), "here", 5);
  const auto view = Segment::map(segment->address());
  ASSERT_TRUE(view);
  EXPECT_STREQ(reinterpret_cast<const char*>((*view)->at(offset)), "here");
  EXPECT_TRUE((*view)->contains(offset, mebibyte - offset));
  EXPECT_FALSE((*view)->contains(offset, mebibyte - offset + 1));
  EXPECT_FALSE((*view)->contains(mebibyte + 1, 0));
  EXPECT_FALSE((*view)->contains(4096, ~std::uint64_t{0}));
}

INSTANTIATE_TEST_SUITE_P(Backings, SegmentTest, testing::Values(Backing::memfd, Backing::heap));

TEST(Segment, IsNotMappedWhereAnotherFileOrNothingIs) {
  const auto segment = std::move(*Segment::create(Backing::memfd, mebibyte));
  std::string address = segment->address();
  address[0] = static_cast<char>(address[0] ^ 1); // the nonce stands first
  const auto other = Segment::map(address);
  ASSERT_FALSE(other);
  EXPECT_TRUE(contains(other.error().message, "another file is there")) << other.error().message;
  EXPECT_FALSE(Segment::map(""));
  EXPECT_FALSE(Segment::map("short"));
  std::string gone;
  {
    const auto ended = std::move(*Segment::create(Backing::memfd, mebibyte));
    gone = ended->address();
  }
  EXPECT_FALSE(Segment::map(gone));
}

TEST(Segment, IsForItsUserOnly) {
  const mode_t before = ::umask(0);
  const auto segment = std::move(*Segment::create(Backing::memfd, mebibyte));
  ::umask(before);
  struct stat facts {};
  ASSERT_EQ(::fstat(segment->file(), &facts), 0);
  EXPECT_EQ(facts.st_mode & ALLPERMS, static_cast<mode_t>(S_IRUSR | S_IWUSR)) << "others may open or run it";
  EXPECT_EQ(facts.st_uid, ::geteuid());
}

TEST(Segment, KeepsItsPagesForPeersWhenItsOwnerEnds) {
  auto segment = std::move(*Segment::create(Backing::memfd, mebibyte));
  const std::uint64_t offset = *segment->lease(100);
  std::memcpy(segment->view().at(offset), "still here", 11);
  const auto view = std::move(*Segment::map(segment->address()));
  segment->keep_pages();
  segment->give_back(offset, 100);
  segment.reset();
  EXPECT_STREQ(reinterpret_cast<const char*>(view->at(offset)), "still here");
}

TEST(Segment, LeavesNothingOpen) {
  const int before = ::dup(0);
  ::close(before);
  for (int i = 0; i < 50; ++i) {
    const auto segment = std::move(*Segment::create(Backing::memfd, mebibyte));
    EXPECT_TRUE(Segment::map(segment->address()));
  }
  const int after = ::dup(0);
  ::close(after);
  EXPECT_EQ(after, before);
}

/// Ranks 0 and 1. Rank 0 sends message A to rank 1, which sends B back.
class ShmChannelTest : public testing::TestWithParam<Backing> {
protected:
  static constexpr sched::Tag a{0, 0, 1}, b{0, 0, 2};

  void SetUp() override {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      transports[rank] = std::move(*ShmTransport::create(GetParam(), mebibyte));
      addresses.push_back({rank + 1, transports[rank]->address()});
    }
    for (std::size_t rank = 0; rank < 2; ++rank)
      links[rank] = std::move(*transports[rank]->link(addresses, static_cast<std::int32_t>(rank), {true, true}));
  }

  static ChannelShape shape(std::int32_t peer, sched::Tag sends, sched::Tag takes, std::size_t bytes) {
    ChannelShape made;
    made.plan = 3;
    made.window = 2;
    made.outgoing.push_back({sends, 0, {peer}, bytes});
    made.incoming.push_back({takes, 0, peer, bytes});
    return made;
  }

  void prepare(std::size_t bytes) {
    channels[0] = std::move(*links[0]->prepare(shape(1, a, b, bytes)));
    channels[1] = std::move(*links[1]->prepare(shape(0, b, a, bytes)));
  }
  std::vector<std::uint64_t> announcements() const {
    return {channels[0]->announcement(), channels[1]->announcement()};
  }
  void connect(std::size_t bytes) {
    prepare(bytes);
    for (auto& channel : channels)
      ASSERT_TRUE(channel->connect(announcements()));
  }
  std::size_t leased(std::size_t rank) const { return transports[rank]->segment().leased_bytes(); }

  std::unique_ptr<ShmTransport> transports[2];
  std::vector<PeerAddress> addresses;
  std::unique_ptr<Links> links[2];
  std::unique_ptr<Channel> channels[2];
};

TEST_P(ShmChannelTest, CarriesSlicesAsFarAsItsWindowAllows) {
  for (std::size_t bytes : {1u, 56u, 57u, 1000u}) {
    connect(bytes);
    std::vector<char> sent(bytes);
    for (std::uint64_t slice = 0; slice < 9; ++slice) {
      std::fill(sent.begin(), sent.end(), static_cast<char>('a' + slice));
      EXPECT_EQ(channels[1]->arrived(0, slice), nullptr);
      EXPECT_TRUE(channels[0]->start_send(0, slice, sent.data(), bytes));
      EXPECT_TRUE(channels[0]->sent(0, slice));
      if (slice % 2 == 0) continue;
      EXPECT_FALSE(channels[0]->start_send(0, slice + 1, sent.data(), bytes)); // both slots are full
      for (std::uint64_t taken = slice - 1; taken <= slice; ++taken) {
        const auto* got = static_cast<const char*>(channels[1]->arrived(0, taken));
        ASSERT_NE(got, nullptr);
        EXPECT_EQ(std::string(got, bytes), std::string(bytes, static_cast<char>('a' + taken)));
        channels[1]->release(0, taken);
        channels[1]->finished(taken);
      }
    }
    EXPECT_EQ(channels[0]->traffic().messages, 9u);
    EXPECT_EQ(channels[0]->traffic().bytes, 9 * bytes);
    for (auto& channel : channels)
      channel->depart();
    for (auto& channel : channels)
      channel.reset();
  }
}

TEST_P(ShmChannelTest, PromisesAPayloadUnderAFlagOfItsReader) {
  connect(1000);
  const std::size_t offset = channels[0]->room_aside(0, 1), flag = channels[0]->flags_aside(0, 1);
  EXPECT_EQ(flag % sizeof(std::uint32_t), 0u);
  EXPECT_EQ(flag, channels[1]->own_flags_aside(0)) << "both know the same";
  EXPECT_GE(flag, channels[1]->aside_bytes() - channels[1]->flag_bytes()) << "it lies behind all slots";
  EXPECT_LE(flag + sizeof(std::uint32_t), channels[1]->aside_bytes());
  EXPECT_EQ(channels[0]->flags_aside(0, 0), Channel::nowhere) << "the sender has none";
  EXPECT_FALSE(channels[1]->is_promised_aside(0, 1));
  channels[0]->promise_aside(0, 1, 1000);
  EXPECT_EQ(channels[1]->arrived(0, 1), nullptr);
  EXPECT_EQ(channels[1]->arrived_aside(0, 1), offset);
  EXPECT_TRUE(channels[1]->is_promised_aside(0, 1));
  channels[0]->publish_aside(0, 0, 1000);
  EXPECT_NE(channels[1]->arrived_aside(0, 0), Channel::nowhere);
  EXPECT_FALSE(channels[1]->is_promised_aside(0, 0)) << "it is there";
}

/// The pages in which bytes are.
struct Pages {
  Pages(const void* from, std::size_t bytes)
      : begin(reinterpret_cast<std::uintptr_t>(from) / page),
        end((reinterpret_cast<std::uintptr_t>(from) + bytes - 1) / page + 1) {}
  std::size_t count() const { return end - begin; }
  /// Of them, those that this process has mapped; none where the kernel does not tell.
  std::optional<std::size_t> mapped() const {
    const Descriptor entries(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    std::size_t found = 0;
    for (std::uintptr_t number = begin; number < end; ++number) {
      std::uint64_t entry = 0;
      const auto place = static_cast<off_t>(number * sizeof entry);
      if (::pread(entries.number(), &entry, sizeof entry, place) != sizeof entry) return std::nullopt;
      found += entry >> 63;
    }
    return found;
  }
  const std::uintptr_t page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  std::uintptr_t begin, end;
};

bool kernel_maps_in_advance() {
#ifdef MADV_POPULATE_WRITE
  alignas(65536) static std::byte page[65536];
  return ::madvise(page, sizeof page, MADV_POPULATE_WRITE) == 0;
#else
  return false;
#endif
}

/// Between processes: on the heap, pages may be mapped from before.
class ShmChannelOverFiles : public ShmChannelTest {};

TEST_P(ShmChannelOverFiles, HasMappedWhatCallsAreGoingToUse) {
  constexpr std::size_t bytes = 200000;
  connect(bytes);
  ASSERT_TRUE(channels[0]->start_send(0, 0, "first", 6));
  const void* const places[] = {channels[0]->room(0, 0),
                                channels[1]->arrived(0, 0)}; // where it is mapped here and there
  if (!kernel_maps_in_advance() || !Pages(places[0], 1).mapped())
    GTEST_SKIP() << "this kernel maps no pages in advance, or does not tell which are mapped";
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const Pages all(places[rank], bytes), quarter(places[rank], bytes / 4);
    EXPECT_LT(*all.mapped(), all.count() / 2) << "a call may be short, and its slice nearly empty";
    channels[rank]->make_ready(0.25);
    EXPECT_EQ(*quarter.mapped(), quarter.count());
    EXPECT_LT(*all.mapped(), all.count() / 2);
    channels[rank]->make_ready(1);
    EXPECT_EQ(*all.mapped(), all.count());
  }
}

/// Three ranks, of which the first sends two messages with the same tag and begin, to one of the others each.
class ShmChannelOfThree : public testing::Test {
protected:
  ShmChannelOfThree() {
    std::vector<PeerAddress> addresses;
    for (std::uint64_t rank = 0; rank < 3; ++rank) {
      transports.push_back(std::move(*ShmTransport::create(Backing::memfd, mebibyte)));
      addresses.push_back({rank + 1, transports.back()->address()});
    }
    std::vector<std::uint64_t> announcements;
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      ChannelShape shape;
      if (rank == 0)
        shape.outgoing = {{tag, 0, {1}, 100}, {tag, 0, {2}, 100}};
      else
        shape.incoming = {{tag, 0, 0, 100}};
      links.push_back(
          std::move(*transports[static_cast<std::size_t>(rank)]->link(addresses, rank, {true, true, true})));
      channels.push_back(std::move(*links.back()->prepare(shape)));
      announcements.push_back(channels.back()->announcement());
    }
    for (const auto& channel : channels)
      EXPECT_TRUE(channel->connect(announcements));
  }

  static constexpr sched::Tag tag{0, 0, 1};
  std::vector<std::unique_ptr<ShmTransport>> transports;
  std::vector<std::unique_ptr<Links>> links;
  std::vector<std::unique_ptr<Channel>> channels;
};

TEST_F(ShmChannelOfThree, TellsMessagesApartByTheirReceivers) {
  ASSERT_TRUE(channels[0]->start_send(0, 0, "for rank 1", 11));
  EXPECT_EQ(channels[2]->arrived(0, 0), nullptr) << "it is another's";
  ASSERT_TRUE(channels[0]->start_send(1, 0, "for rank 2", 11));
  for (const std::size_t rank : {1u, 2u}) {
    ASSERT_NE(channels[rank]->arrived(0, 0), nullptr);
    EXPECT_STREQ(static_cast<const char*>(channels[rank]->arrived(0, 0)), rank == 1 ? "for rank 1" : "for rank 2");
  }
  for (const auto& channel : channels)
    channel->depart();
}

TEST_F(ShmChannelOfThree, IsReadUntilARankHasDepartedThatOnlyLooksWhetherTheCallIsGivenUp) {
  channels[0]->depart();
  channels[1]->depart();
  EXPECT_FALSE(channels[1]->quiescent());
  EXPECT_FALSE(channels[2]->is_given_up());
  channels[1]->give_up_call();
  EXPECT_TRUE(channels[2]->is_given_up()) << "of a rank that it exchanges nothing with";
  channels[2]->depart();
  for (const auto& channel : channels)
    EXPECT_TRUE(channel->quiescent());
}

TEST_P(ShmChannelTest, TellsAPayloadThatWasPutAsideFromOneThatItCarries) {
  for (const std::size_t bytes : {8u, 1000u}) {
    connect(bytes);
    const std::vector<char> sent(bytes, 'a');
    for (std::uint64_t slice = 0; slice < 8; slice += 2) {
      const std::size_t offset = channels[0]->room_aside(0, slice);
      ASSERT_LE(offset + bytes, channels[0]->aside_bytes());
      EXPECT_EQ(offset % line_bytes, 0u);
      EXPECT_EQ(channels[1]->arrived_aside(0, slice), Channel::nowhere);
      channels[0]->publish_aside(0, slice, bytes);
      EXPECT_TRUE(channels[0]->start_send(0, slice + 1, sent.data(), bytes));
      EXPECT_EQ(channels[0]->room_aside(0, slice + 2), Channel::nowhere) << "its readers have not finished";
      EXPECT_EQ(channels[1]->arrived_aside(0, slice), offset);
      EXPECT_EQ(channels[1]->arrived(0, slice), nullptr);
      EXPECT_EQ(channels[1]->arrived_aside(0, slice + 1), Channel::nowhere);
      EXPECT_NE(channels[1]->arrived(0, slice + 1), nullptr);
      channels[1]->finished(slice + 1);
    }
    EXPECT_EQ(channels[0]->traffic().bytes, 8 * bytes);
    for (auto& channel : channels)
      channel->depart();
    for (auto& channel : channels)
      channel.reset();
  }
}

TEST_P(ShmChannelTest, IsQuiescentOnlyWhenItsPeerHasDeparted) {
  connect(1000);
  const char payload[1000] = "for a slow reader";
  ASSERT_TRUE(channels[0]->start_send(0, 0, payload, sizeof payload));
  channels[0]->depart();
  EXPECT_FALSE(channels[0]->quiescent());
  EXPECT_STREQ(static_cast<const char*>(channels[1]->arrived(0, 0)), payload);
  channels[1]->depart();
  EXPECT_TRUE(channels[0]->quiescent());
  EXPECT_TRUE(channels[1]->quiescent());
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_GT(leased(rank), 0u);
    channels[rank].reset();
    EXPECT_EQ(leased(rank), 0u);
  }
}

TEST_P(ShmChannelTest, IsQuiescentWhenItNeverConnected) {
  prepare(10);
  EXPECT_TRUE(channels[0]->quiescent());
  channels[0].reset();
  EXPECT_EQ(leased(0), 0u);
}

TEST_P(ShmChannelTest, RefusesAnAnnouncementThatLiesOutsideOfTheSegmentOrIsAnotherPlans) {
  prepare(10);
  auto wrong = announcements();
  wrong[1] = mebibyte - 8;
  auto refused = channels[0]->connect(wrong);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(contains(refused.error().message, "rank 1 announced a block outside")) << refused.error().message;
  wrong[1] = 4096 * 100; // zeroes
  refused = channels[0]->connect(wrong);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(contains(refused.error().message, "not that of plan 3")) << refused.error().message;
}

TEST_P(ShmChannelTest, RefusesAPeerThatDoesNotSendWhatIsExpected) {
  channels[0] = std::move(*links[0]->prepare(shape(1, a, b, 100)));
  channels[1] = std::move(*links[1]->prepare(shape(0, b, a, 50)));
  const auto smaller = channels[0]->connect(announcements());
  channels[1] = std::move(*links[1]->prepare(shape(0, a, a, 100)));
  const auto other = channels[0]->connect(announcements());
  for (const Status& refused : {smaller, other}) {
    ASSERT_FALSE(refused);
    EXPECT_TRUE(contains(refused.error().message, "rank 1 does not send message l0.rs.2 as it is expected"))
        << refused.error().message;
  }
}

TEST_P(ShmChannelTest, SaysThatThereIsNoRoomForItsSlots) {
  const auto refused = links[0]->prepare(shape(1, a, b, mebibyte));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::resource);
  EXPECT_EQ(leased(0), 0u);
}

INSTANTIATE_TEST_SUITE_P(Backings, ShmChannelTest, testing::Values(Backing::memfd, Backing::heap));
INSTANTIATE_TEST_SUITE_P(Backings, ShmChannelOverFiles, testing::Values(Backing::memfd));

} // namespace
} // namespace strata::transport::shm
