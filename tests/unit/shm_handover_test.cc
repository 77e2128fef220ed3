// SPDX-License-Identifier: BSD-3-Clause
// Segments that pass through a socket, between two handovers of this process, and to another user's.
#include "transport/shm/handover.h"
#include "transport/shm/segment.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

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

TEST_F(HandoverTest, ForgetsWhoLetGo) {
  asker_.ask(owner_->offer(), nonce_);
  owner_->answer(segment_->file(), nonce_);
  EXPECT_TRUE(owner_->has_answered()) << "before it is taken";
  {
    const Handover::Taken taken = asker_.take(nonce_);
    ASSERT_TRUE(taken.file);
    EXPECT_TRUE(owner_->has_answered());
  }
  EXPECT_FALSE(owner_->has_answered());
}

/// A process with a segment, whose first thread ends when it is told to, while another one goes on.
class OwnerTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, channel_), 0);
    child_ = fork();
    if (child_ == 0) be_owner();
    ASSERT_GT(child_, 0);
  }
  ~OwnerTest() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(channel_[0]);
    close(channel_[1]);
  }

  [[noreturn]] void be_owner() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto segment = Segment::create(Backing::memfd, std::size_t{1} << 20);
    const auto go_on = [](void*) -> void* {
      for (;;)
        pause();
    };
    pthread_t other;
    char told = 0;
    if (!segment || pthread_create(&other, nullptr, go_on, nullptr) != 0) _exit(1);
    const std::string address = (*segment)->address();
    if (write(channel_[1], address.data(), address.size()) < 0 || read(channel_[1], &told, 1) != 1) _exit(1);
    for (;;)
      syscall(SYS_exit, 0); // this thread alone, and without what pthread_exit() destroys
  }
  std::shared_ptr<View> map() const {
    char address[256] = {};
    const ssize_t bytes = read(channel_[0], address, sizeof address);
    auto view = Segment::map(std::string(address, bytes > 0 ? static_cast<std::size_t>(bytes) : 0));
    return view ? std::move(*view) : nullptr;
  }
  char state() const {
    std::ifstream file("/proc/" + std::to_string(child_) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::size_t name_end = text.rfind(") ");
    return name_end == std::string::npos ? '?' : text[name_end + 2];
  }

  int channel_[2] = {-1, -1};
  pid_t child_ = -1;
};

TEST_F(OwnerTest, IsThereAsLongAsOneOfItsThreads) {
  const std::shared_ptr<View> view = map();
  ASSERT_NE(view, nullptr);
  EXPECT_TRUE(view->has_owner());
  ASSERT_EQ(write(channel_[0], "", 1), 1);
  for (int milliseconds = 0; state() != 'Z' && milliseconds < 10000; ++milliseconds)
    usleep(1000);
  ASSERT_EQ(state(), 'Z');
  EXPECT_TRUE(view->has_owner()) << "its other thread goes on";
  kill(child_, SIGKILL);
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOWAIT);
  EXPECT_FALSE(view->has_owner()) << "not waited for yet";
  waitpid(std::exchange(child_, -1), nullptr, 0);
  EXPECT_FALSE(view->has_owner());
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
