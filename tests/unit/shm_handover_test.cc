// SPDX-License-Identifier: BSD-3-Clause
// Segments that pass through a socket, between two handovers of this process, and to another user's.
#include "transport/shm/handover.h"
#include "transport/shm/segment.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace strata::transport::shm {
namespace {

class HandoverTest : public testing::Test {
protected:
  std::unique_ptr<Segment> segment_ = std::move(*Segment::create(Backing::memfd, std::size_t{1} << 20));
  std::uint64_t nonce_ = Segment::nonce_of(segment_->address());
  std::unique_ptr<Handover> owner_ = std::make_unique<Handover>();
  Handover asker_;
};

TEST_F(HandoverTest, MapsTheSegmentThatWasAskedFor) {
  const std::string name = owner_->offer();
  ASSERT_NE(name, "");
  asker_.ask(name, nonce_);
  owner_->answer(segment_->file(), nonce_);
  Handover::Taken taken = asker_.take(nonce_);
  ASSERT_TRUE(taken.file);
  const auto view = Segment::map_handed(segment_->address(), taken.file, std::move(taken.connection));
  ASSERT_TRUE(view) << view.error().message;
  const std::uint64_t offset = *segment_->lease(100);
  std::memcpy(segment_->view().at(offset), "here", 5);
  EXPECT_STREQ(reinterpret_cast<const char*>((*view)->at(offset)), "here");
  EXPECT_FALSE(asker_.take(nonce_).file) << "it was taken already";
}

TEST_F(HandoverTest, SeesThatTheOwnerHasEnded) {
  asker_.ask(owner_->offer(), nonce_);
  owner_->answer(segment_->file(), nonce_);
  Handover::Taken taken = asker_.take(nonce_);
  const auto view = Segment::map_handed(segment_->address(), taken.file, std::move(taken.connection));
  ASSERT_TRUE(view);
  EXPECT_TRUE((*view)->has_owner());
  owner_.reset(); // as the end of its process does
  EXPECT_FALSE((*view)->has_owner());
  (*view)->header().has_left = 1;
  EXPECT_TRUE((*view)->has_owner()) << "in good order is no trouble";
}

TEST_F(HandoverTest, GivesNothingToWhoDoesNotKnowTheNonce) {
  asker_.ask(owner_->offer(), nonce_ + 1);
  owner_->answer(segment_->file(), nonce_);
  EXPECT_FALSE(owner_->has_answered());
  EXPECT_FALSE(asker_.take(nonce_ + 1).file);
  EXPECT_FALSE(asker_.take(nonce_).file);
}

TEST_F(HandoverTest, TakesNothingWhereNobodyAnswers) {
  asker_.ask("strata-of-nobody", nonce_);
  EXPECT_FALSE(asker_.take(nonce_).file);
  const std::string name = owner_->offer();
  asker_.ask(name, nonce_);
  EXPECT_FALSE(asker_.take(nonce_).file) << "not answered yet";
  owner_->end_offer();
  asker_.ask(name, nonce_);
  owner_->answer(segment_->file(), nonce_);
  EXPECT_FALSE(asker_.take(nonce_).file) << "the offer has ended";
}

TEST_F(HandoverTest, MapsNoOtherFile) {
  const auto other = std::move(*Segment::create(Backing::memfd, std::size_t{1} << 20));
  const std::string name = owner_->offer();
  asker_.ask(name, nonce_);
  owner_->answer(other->file(), nonce_);
  Handover::Taken taken = asker_.take(nonce_);
  ASSERT_TRUE(taken.file);
  EXPECT_FALSE(Segment::map_handed(segment_->address(), taken.file, std::move(taken.connection)));
}

/// Runs `body` in a process of another user while `owner` answers; what body returns.
template <typename Body>
int as_another_user(Handover& owner, const Segment& segment, std::uint64_t nonce, const Body& body) {
  int asked[2], answered[2];
  EXPECT_EQ(::pipe(asked), 0);
  EXPECT_EQ(::pipe(answered), 0);
  const auto tell = [](int to) { (void)!::write(to, "", 1); };
  const auto hear = [](int from) {
    char nothing;
    (void)!::read(from, &nothing, 1);
  };
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(0, 65534, 0) != 0) ::_exit(99);
    ::_exit(body([&] {
      tell(asked[1]);
      hear(answered[0]);
    }));
  }
  hear(asked[0]);
  owner.answer(segment.file(), nonce);
  tell(answered[1]);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  for (const int file : {asked[0], asked[1], answered[0], answered[1]})
    ::close(file);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(HandoverTest, GivesNothingToAnotherUserWhoKnowsTheNonce) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = owner_->offer();
  const std::size_t letters = name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const int seen = as_another_user(*owner_, *segment_, nonce_, [&](const auto& meet) {
    const Descriptor stranger(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + letters);
    if (::connect(stranger.number(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) return 98;
    if (::send(stranger.number(), &nonce_, sizeof nonce_, MSG_NOSIGNAL) != sizeof nonce_) return 97;
    meet();
    char content;
    return ::recv(stranger.number(), &content, 1, MSG_DONTWAIT) > 0 ? 1 : 0;
  });
  EXPECT_EQ(seen, 0) << "1: it was answered; others: the test itself failed there";
  EXPECT_FALSE(owner_->has_answered());
}

TEST_F(HandoverTest, AsksNoOtherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string name = owner_->offer();
  const int seen = as_another_user(*owner_, *segment_, nonce_, [&](const auto& meet) {
    asker_.ask(name, nonce_);
    meet();
    return asker_.take(nonce_).file ? 1 : 0;
  });
  EXPECT_EQ(seen, 0);
}

} // namespace
} // namespace strata::transport::shm
