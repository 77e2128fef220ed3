// SPDX-License-Identifier: BSD-3-Clause
#include "transport/message_channel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <list>
#include <set>
#include <utility>

namespace strata::transport {
namespace {

Incoming incoming(std::int32_t peer, std::uint16_t round, sched::Unit begin, std::size_t most_bytes) {
  return {{1, 0, round}, begin, peer, most_bytes};
}

Payload payload_of(int& value) { return {&value, sizeof value, &value}; }

TEST(ArrivalTable, FindsEveryMessageByPeerTagAndBegin) {
  std::vector<Incoming> messages;
  for (std::int32_t peer = 0; peer < 9; ++peer)
    for (std::uint16_t round = 0; round < 5; ++round)
      for (sched::Unit part = 0; part < 16; ++part)
        messages.push_back(incoming(peer, round, sched::whole / 16 * part, 8));
  const ArrivalTable table(messages, 4);
  for (std::size_t index = 0; index < messages.size(); ++index)
    EXPECT_EQ(table.find(messages[index].peer, packed(messages[index].tag), messages[index].begin), index);
  EXPECT_EQ(table.find(9, packed(messages[0].tag), 0), ArrivalTable::none);
  EXPECT_EQ(table.find(0, packed({2, 0, 0}), 0), ArrivalTable::none);
  EXPECT_EQ(table.find(0, packed({1, 0, 0}), 1), ArrivalTable::none);
}

TEST(ArrivalTable, KeepsSlicesThatComeInAnyOrder) {
  const std::vector<Incoming> messages{incoming(1, 0, 0, 8)};
  ArrivalTable table(messages, 2);
  int values[4] = {0, 1, 2, 3};
  for (const std::uint64_t slice : {2u, 0u, 3u, 1u})
    EXPECT_TRUE(table.put(0, slice, payload_of(values[slice])));
  EXPECT_FALSE(table.overflowed());
  for (std::uint64_t slice = 0; slice < 4; ++slice) {
    EXPECT_EQ(table.look(0, slice).bytes, &values[slice]);
    EXPECT_EQ(table.take(0, slice).handle, &values[slice]);
    EXPECT_EQ(table.look(0, slice).bytes, nullptr);
  }
}

TEST(ArrivalTable, KeepsMessagesThatAreFurtherAheadThanItsSlots) {
  const std::vector<Incoming> messages{incoming(1, 0, 0, 8), incoming(1, 1, 0, 8)};
  ArrivalTable table(messages, 1);
  int values[2][7] = {};
  for (std::uint64_t slice = 7; slice-- > 0;)
    for (std::size_t index = 0; index < 2; ++index)
      EXPECT_TRUE(table.put(index, slice, payload_of(values[index][slice])));
  EXPECT_TRUE(table.overflowed());
  for (std::uint64_t slice = 0; slice < 7; ++slice)
    for (std::size_t index = 0; index < 2; ++index) {
      Payload seen = table.look(index, slice);
      if (seen.bytes == nullptr) seen = table.look_overflow(index, slice);
      EXPECT_EQ(seen.bytes, &values[index][slice]) << "message " << index << " of slice " << slice;
      EXPECT_EQ(table.take(index, slice).bytes, &values[index][slice]);
      EXPECT_EQ(table.look(index, slice).bytes, nullptr);
      EXPECT_EQ(table.look_overflow(index, slice).bytes, nullptr);
    }
  EXPECT_FALSE(table.overflowed());
}

TEST(ArrivalTable, RefusesAMessageThatComesTwiceEvenIfTheFirstOverflowed) {
  const std::vector<Incoming> messages{incoming(1, 0, 0, 8)};
  ArrivalTable table(messages, 1);
  int value = 0;
  EXPECT_TRUE(table.put(0, 0, payload_of(value)));
  EXPECT_FALSE(table.put(0, 0, payload_of(value)));
  EXPECT_TRUE(table.put(0, 2, payload_of(value)));
  table.take(0, 0);
  EXPECT_FALSE(table.put(0, 2, payload_of(value)));
}

/// Carries messages within the test: what is posted lies in a list until the test moves it.
class TestCarrier final : public Carrier {
public:
  struct Letter {
    WireHeader header;
    std::vector<char> bytes;
  };

  ~TestCarrier() override {
    for (const Payload& payload : kept_)
      delete[] static_cast<const char*>(payload.bytes);
  }

  Result<PeerNumber> peer(const std::string& address, Use) override {
    if (address == "nowhere") return Error{ErrorKind::peer, "nowhere cannot be reached"};
    return static_cast<PeerNumber>(address[0]);
  }
  const char* peer_failure(PeerNumber peer) const override { return peer == dead ? "it died" : nullptr; }
  void greet(PeerNumber peer) override { greetings.insert(peer); }
  bool greeting_sent(PeerNumber peer) const override { return reached.count(peer) != 0; }
  bool has_greeted(PeerNumber peer) const override { return heard.count(peer) != 0; }
  void abandon(PeerNumber peer) override {
    abandoned.insert(peer);
    complete_all("given up");
  }
  Posted post(Post& message) override {
    if (room == 0) return Posted::no_room;
    --room;
    const char* bytes = static_cast<const char*>(message.payload);
    letters.push_back({message.header, std::vector<char>(bytes, bytes + message.bytes)});
    sequence_.fetch_add(1);
    if (!asynchronous) return Posted::done;
    under_way.push_back(&message);
    return Posted::under_way;
  }
  void let_go(const Payload& payload) override {
    ++let_go_count;
    for (auto place = kept_.begin(); place != kept_.end(); ++place)
      if (place->bytes == payload.bytes) {
        delete[] static_cast<const char*>(payload.bytes);
        kept_.erase(place);
        return;
      }
    ADD_FAILURE() << "a payload was let go of twice";
  }
  void advance() override {
    if (!asynchronous) complete_all(nullptr);
  }
  void flush() override {
    if (!stuck) gone_ = sequence_.load();
  }

  void receive(const Letter& letter) {
    char* bytes = new char[letter.bytes.size() + 1];
    std::memcpy(bytes, letter.bytes.data(), letter.bytes.size());
    kept_.push_back({bytes, letter.bytes.size(), nullptr});
    const Payload payload = kept_.back();
    if (!deliver(letter.header, payload)) let_go(payload);
  }
  void complete_all(const char* failure) {
    for (Post* post : std::exchange(under_way, {}))
      completed(*post, failure);
  }
  void bury(PeerNumber peer) {
    dead = peer;
    report_failure(peer);
  }
  std::size_t kept() const { return kept_.size(); }

  std::list<Letter> letters;
  std::vector<Post*> under_way;
  std::set<PeerNumber> greetings, reached, heard, abandoned;
  std::size_t room = 1000;
  std::size_t let_go_count = 0;
  bool asynchronous = false; ///< posts stay under way
  bool stuck = false;        ///< nothing leaves this process
  PeerNumber dead = 0;

private:
  std::list<Payload> kept_;
};

/// Rank 0 and rank 1 of a context, each with a carrier of its own.
class MessageChannelTest : public testing::Test {
protected:
  void SetUp() override {
    const std::vector<PeerAddress> addresses{{100, "a"}, {200, "b"}, {300, "nowhere"}, {400, ""}};
    const std::vector<bool> all(addresses.size(), true);
    sender_links_ = std::make_unique<MessageLinks>(sender_carrier_, addresses, 0, all);
    receiver_links_ = std::make_unique<MessageLinks>(receiver_carrier_, addresses, 1, all);
  }

  std::unique_ptr<Channel> sender() {
    ChannelShape shape{7, 2, {{{1, 0, 0}, 0, {1}, 8}, {{1, 2, 0}, 64, {1}, 8}}, {}};
    return std::move(*sender_links_->prepare(shape));
  }
  std::unique_ptr<Channel> receiver() {
    ChannelShape shape{7, 2, {}, {incoming(0, 0, 0, 8), {{1, 2, 0}, 64, 0, 8}}};
    return std::move(*receiver_links_->prepare(shape));
  }
  void move_letters() {
    for (const TestCarrier::Letter& letter : sender_carrier_.letters)
      receiver_carrier_.receive(letter);
    sender_carrier_.letters.clear();
  }

  TestCarrier sender_carrier_, receiver_carrier_;
  std::unique_ptr<MessageLinks> sender_links_, receiver_links_;
};

TEST_F(MessageChannelTest, DeliversToTheIndexThatTheReceiverKnows) {
  const auto from = sender();
  const auto to = receiver();
  ASSERT_TRUE(from->start_send(1, 0, "second", 7));
  ASSERT_TRUE(from->start_send(0, 0, "first", 6));
  EXPECT_TRUE(from->sent(0, 0));
  EXPECT_EQ(to->arrived(0, 0), nullptr);
  EXPECT_FALSE(to->progress());
  move_letters();
  EXPECT_TRUE(to->progress());
  EXPECT_FALSE(to->progress());
  EXPECT_STREQ(static_cast<const char*>(to->arrived(0, 0)), "first");
  EXPECT_STREQ(static_cast<const char*>(to->arrived(1, 0)), "second");
  EXPECT_EQ(to->arrived_bytes(1, 0), 7u);
  EXPECT_EQ(to->arrived(0, 1), nullptr);
  to->release(0, 0);
  to->release(1, 0);
  EXPECT_EQ(receiver_carrier_.kept(), 0u);
  EXPECT_EQ(to->failure(), nullptr);
  EXPECT_EQ(from->traffic().messages, 2u);
  EXPECT_EQ(from->traffic().bytes, 13u);
}

TEST_F(MessageChannelTest, KeepsASenderFarAheadUntilTheReceiverComes) {
  const auto from = sender();
  const auto to = receiver();
  for (std::uint64_t slice = 0; slice < 20; ++slice)
    ASSERT_TRUE(from->start_send(0, slice, &slice, sizeof slice));
  move_letters();
  for (std::uint64_t slice = 0; slice < 20; ++slice) {
    ASSERT_NE(to->arrived(0, slice), nullptr) << "slice " << slice;
    std::uint64_t seen;
    std::memcpy(&seen, to->arrived(0, slice), sizeof seen);
    EXPECT_EQ(seen, slice);
    to->release(0, slice);
    to->finished(slice);
  }
  EXPECT_EQ(receiver_carrier_.kept(), 0u);
}

TEST_F(MessageChannelTest, RefusesAMessageOfAWrongSizeAndSaysWhose) {
  const auto from = sender();
  const auto to = receiver();
  ASSERT_TRUE(from->start_send(0, 0, "nine byte", 9));
  move_letters();
  EXPECT_EQ(to->arrived(0, 0), nullptr);
  EXPECT_EQ(receiver_carrier_.kept(), 0u);
  ASSERT_NE(to->failure(), nullptr);
  EXPECT_STREQ(to->failure(), "rank 0 sent 9 bytes where plan 7 allows 1 to 8");
}

TEST_F(MessageChannelTest, RefusesUnknownTagsFinishedSlicesAndRepetitions) {
  const auto from = sender();
  ASSERT_TRUE(from->start_send(0, 0, "x", 1));
  const TestCarrier::Letter letter = sender_carrier_.letters.front();
  const auto refuses = [&](const TestCarrier::Letter& wrong) {
    const auto to = receiver();
    receiver_carrier_.receive(letter);
    EXPECT_EQ(to->failure(), nullptr);
    to->finished(0);
    receiver_carrier_.receive(wrong);
    return to->failure() != nullptr;
  };
  TestCarrier::Letter wrong = letter;
  wrong.header.tag ^= 1;
  EXPECT_TRUE(refuses(wrong));
  EXPECT_TRUE(refuses(letter)) << "slice 0 was finished";
  wrong = letter;
  wrong.header.slice = 1;
  EXPECT_FALSE(refuses(wrong));
  wrong.bytes.clear();
  EXPECT_TRUE(refuses(wrong)) << "an empty message is never sent";
  EXPECT_EQ(receiver_carrier_.kept(), 0u) << "closing a channel lets go of what it kept";
}

TEST_F(MessageChannelTest, KeepsAMessageForAChannelThatIsMadeLater) {
  const auto from = sender();
  ASSERT_TRUE(from->start_send(0, 0, "early", 6));
  move_letters();
  const auto to = receiver();
  EXPECT_TRUE(to->progress());
  EXPECT_STREQ(static_cast<const char*>(to->arrived(0, 0)), "early");
}

TEST_F(MessageChannelTest, KeepsABoundedNumberOfMessagesForNobody) {
  const auto from = sender();
  ASSERT_TRUE(from->start_send(0, 0, "stray", 6));
  for (int time = 0; time < 5000; ++time)
    receiver_carrier_.receive(sender_carrier_.letters.front());
  EXPECT_LE(receiver_carrier_.kept(), 1024u);
}

TEST_F(MessageChannelTest, IsNotSentBeforeEveryPostIsFinished) {
  sender_carrier_.asynchronous = true;
  const auto from = sender();
  ASSERT_TRUE(from->start_send(0, 0, "x", 1));
  EXPECT_FALSE(from->sent(0, 0));
  EXPECT_FALSE(from->quiescent());
  EXPECT_FALSE(from->start_send(0, 2, "y", 1)) << "slice 2 shares the record of slice 0";
  sender_carrier_.complete_all(nullptr);
  EXPECT_TRUE(from->progress());
  EXPECT_TRUE(from->sent(0, 0));
  EXPECT_TRUE(from->quiescent());
  EXPECT_TRUE(from->start_send(0, 2, "y", 1));
  sender_carrier_.complete_all("the wire broke");
  EXPECT_STREQ(from->failure(), "the wire broke");
}

TEST_F(MessageChannelTest, SurvivesPostsThatFinishAfterItsEnd) {
  sender_carrier_.asynchronous = true;
  auto from = sender();
  ASSERT_TRUE(from->start_send(0, 0, "x", 1));
  from.reset();
  sender_carrier_.complete_all("too late");
}

TEST_F(MessageChannelTest, ServesTheRestOfASetOfPeersWhenThereIsRoomAgain) {
  const std::vector<PeerAddress> addresses{{1, "a"}, {2, "b"}, {3, "c"}, {4, "d"}};
  MessageLinks links(sender_carrier_, addresses, 0, std::vector<bool>(4, true));
  const auto from = std::move(*links.prepare({0, 1, {{{0, 0, 0}, 0, {1, 2, 3}, 8}}, {}}));
  sender_carrier_.room = 2;
  EXPECT_FALSE(from->start_send(0, 0, "x", 1));
  EXPECT_FALSE(from->sent(0, 0));
  sender_carrier_.room = 1;
  EXPECT_TRUE(from->start_send(0, 0, "x", 1));
  EXPECT_TRUE(from->sent(0, 0));
  std::set<std::uint64_t> keys;
  for (const TestCarrier::Letter& letter : sender_carrier_.letters)
    keys.insert(letter.header.context_key);
  EXPECT_EQ(keys, (std::set<std::uint64_t>{2, 3, 4})) << "each peer once, by its own key";
}

TEST_F(MessageChannelTest, IsFlushedOnlyWhenTheCarrierSaysSo) {
  const auto from = sender();
  EXPECT_TRUE(from->flushed());
  ASSERT_TRUE(from->start_send(0, 0, "x", 1));
  EXPECT_LT(sender_carrier_.gone(), sender_carrier_.sequence());
  EXPECT_TRUE(from->flushed());
  EXPECT_EQ(sender_carrier_.gone(), sender_carrier_.sequence());
}

TEST_F(MessageChannelTest, LeavesWhatHasNotGoneToTheCallOfAnotherThread) {
  const auto first = std::move(*sender_links_->prepare({7, 1, {{{1, 0, 0}, 0, {1}, 8}}, {}}));
  const auto second = std::move(*sender_links_->prepare({8, 1, {{{1, 0, 0}, 0, {1}, 8}}, {}}));
  sender_carrier_.stuck = true;
  first->begin_call();
  ASSERT_TRUE(first->start_send(0, 0, "x", 1));
  EXPECT_FALSE(first->flushed()) << "there is no other call";
  second->begin_call();
  EXPECT_TRUE(first->flushed());
  EXPECT_TRUE(first->flushed()) << "it does not ask again";
  EXPECT_FALSE(second->flushed()) << "what the first wrote is left to this one";
  sender_carrier_.stuck = false;
  EXPECT_TRUE(second->flushed());
  sender_carrier_.stuck = true;
  first->begin_call();
  ASSERT_TRUE(first->start_send(0, 1, "y", 1));
  EXPECT_FALSE(first->flushed()) << "the second call is over";
}

TEST_F(MessageChannelTest, IsNoCallForOthersToLeaveThingsToOnceGivenUp) {
  const auto first = sender();
  const auto second = std::move(*sender_links_->prepare({8, 1, {{{1, 0, 0}, 0, {1}, 8}}, {}}));
  sender_carrier_.stuck = true;
  first->begin_call();
  first->give_up_call();
  second->begin_call();
  ASSERT_TRUE(second->start_send(0, 0, "x", 1));
  EXPECT_FALSE(second->flushed());
}

TEST_F(MessageChannelTest, WaitsForReadersWhenItsCallIsGivenUp) {
  sender_carrier_.asynchronous = true;
  const auto from = sender();
  from->begin_call();
  ASSERT_TRUE(from->start_send(0, 0, "x", 1));
  sender_carrier_.room = 0;
  ASSERT_FALSE(from->start_send(1, 0, "y", 1)) << "this one was never posted";
  sender_carrier_.asynchronous = false;
  from->give_up_call();
  EXPECT_TRUE(from->quiescent());
  EXPECT_TRUE(sender_carrier_.abandoned.empty());
}

TEST_F(MessageChannelTest, AbandonsReadersThatDoNotComeWhenItsCallIsGivenUp) {
  sender_carrier_.asynchronous = true;
  const std::vector<PeerAddress> addresses{{1, "a"}, {2, "b"}, {3, "c"}};
  MessageLinks links(sender_carrier_, addresses, 0, std::vector<bool>(3, true));
  const auto from = std::move(*links.prepare({0, 1, {{{0, 0, 0}, 0, {1}, 8}, {{0, 1, 0}, 0, {2}, 8}}, {}}));
  from->begin_call();
  ASSERT_TRUE(from->start_send(0, 0, "x", 1));
  sender_carrier_.complete_all(nullptr);
  ASSERT_TRUE(from->start_send(1, 0, "y", 1));
  from->give_up_call();
  EXPECT_TRUE(from->quiescent());
  EXPECT_EQ(sender_carrier_.abandoned, std::set<PeerNumber>{'c'}) << "who has read everything is not";
}

TEST_F(MessageChannelTest, IsConnectedWhenItHasReachedItsReceiversAndHeardOfItsSenders) {
  const auto from = sender();
  const auto to = receiver();
  ASSERT_TRUE(from->connect({}));
  ASSERT_TRUE(to->connect({}));
  EXPECT_EQ(sender_carrier_.greetings, std::set<PeerNumber>{'b'});
  EXPECT_TRUE(receiver_carrier_.greetings.empty()) << "it sends nothing to rank 0";
  EXPECT_FALSE(from->connected());
  EXPECT_FALSE(to->connected());
  sender_carrier_.reached.insert('b');
  receiver_carrier_.heard.insert('a');
  EXPECT_TRUE(from->connected());
  EXPECT_TRUE(to->connected());
}

TEST_F(MessageChannelTest, IsNotMadeForSendersThatWereWaitedForInVainUntilTheyGreet) {
  const ChannelShape shape{8, 1, {}, {incoming(0, 0, 0, 8)}};
  auto to = receiver();
  ASSERT_TRUE(to->connect({}));
  EXPECT_TRUE(receiver_links_->prepare(shape)) << "nobody has lost patience yet";
  to->give_up_connecting();
  to.reset();
  const auto refused = receiver_links_->prepare(shape);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "rank 0 was not heard of before");
  receiver_carrier_.heard.insert('a');
  EXPECT_TRUE(receiver_links_->prepare(shape)) << "it has greeted since";
}

TEST_F(MessageChannelTest, IsNotMadeForPeersThatHaveFailed) {
  sender_carrier_.bury('b');
  const auto refused = sender_links_->prepare({8, 1, {{{1, 0, 0}, 0, {1}, 8}}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "rank 1: it died");
}

TEST_F(MessageChannelTest, FailsForAMessageThatIsTooShortForTheCall) {
  const auto from = sender();
  const auto to = receiver();
  ASSERT_TRUE(from->start_send(0, 0, "four", 4));
  move_letters();
  ASSERT_NE(to->arrived(0, 0), nullptr) << "short messages are the plan's too";
  EXPECT_EQ(to->arrived_bytes(0, 0), 4u);
  EXPECT_EQ(to->failure(), nullptr);
  to->refuse(0, 0, 8);
  EXPECT_STREQ(to->failure(), "a message of 4 bytes came where the arguments of this rank's call make it 8");
}

TEST_F(MessageChannelTest, AbandonsReceiversThatItCouldNotReach) {
  auto from = sender();
  ASSERT_TRUE(from->connect({}));
  EXPECT_FALSE(from->connected());
  from.reset();
  EXPECT_EQ(sender_carrier_.abandoned, std::set<PeerNumber>{'b'});
}

TEST_F(MessageChannelTest, FailsWhenAPeerItUsesIsGone) {
  const auto from = sender();
  sender_carrier_.bury('c');
  EXPECT_EQ(from->failure(), nullptr);
  sender_carrier_.bury('b');
  EXPECT_STREQ(from->failure(), "rank 1 is gone: it died");
}

TEST_F(MessageChannelTest, ReachesOnlyRanksWithAnAddressAndNamesTheOneThatFails) {
  EXPECT_FALSE(sender_links_->reaches(0));
  EXPECT_TRUE(sender_links_->reaches(1));
  EXPECT_FALSE(sender_links_->reaches(3));
  EXPECT_FALSE(sender_links_->reaches(4));
  const auto channel = sender_links_->prepare({0, 1, {{{0, 0, 0}, 0, {2}, 8}}, {}});
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().message, "rank 2: nowhere cannot be reached");
}

} // namespace
} // namespace strata::transport
