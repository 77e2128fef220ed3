// SPDX-License-Identifier: BSD-3-Clause
// Segments that pass through a socket, between two handovers of this process, and to another user's.
#include "transport/shm/handover.h"
#include "transport/shm/segment.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
  owner_->answer(segment_->file(), nonce_);
  asker_.ask(name, nonce_);
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

TEST_F(HandoverTest, GivesNothingToAnotherUser) {
  if (::geteuid() != 0) return; // only root can become another one; the tests of CI run as root
  const std::string name = owner_->offer();
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool changed = ::setresuid(0, 65534, 0) == 0;
    Handover stranger;
    stranger.ask(name, nonce_);
    const char done = changed ? 1 : 0;
    (void)!::write(pipe[1], &done, 1);
    ::usleep(200000);
    ::_exit(stranger.take(nonce_).file ? 1 : 0);
  }
  char changed = 0;
  ASSERT_EQ(::read(pipe[0], &changed, 1), 1);
  EXPECT_EQ(changed, 1);
  owner_->answer(segment_->file(), nonce_);
  EXPECT_FALSE(owner_->has_answered());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

} // namespace
} // namespace strata::transport::shm
