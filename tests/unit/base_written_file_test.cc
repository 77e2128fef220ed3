// SPDX-License-Identifier: BSD-3-Clause
// Files that are written: whole or not at all, and not over what is to be kept.
#include "base/written_file.h"

#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace strata {
namespace {

namespace fs = std::filesystem;

class WrittenFile : public testing::Test {
protected:
  WrittenFile() {
    std::string name = (fs::temp_directory_path() / "strata-written-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    file_ = (folder_ / "file").string();
  }
  ~WrittenFile() override { fs::remove_all(folder_); }

  std::string content() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  fs::path folder_;
  std::string file_;
};

TEST_F(WrittenFile, IsNewOrReplacesAnother) {
  EXPECT_TRUE(write_whole(file_, "one", Existing::kept));
  EXPECT_EQ(content(), "one");
  EXPECT_TRUE(write_whole(file_, "two"));
  EXPECT_EQ(content(), "two");
  EXPECT_EQ(files(), 1);
}

TEST_F(WrittenFile, DoesNotReplaceWhatIsToBeKept) {
  ASSERT_TRUE(write_whole(file_, "one"));
  for (const Status& status : {check_writable(file_, Existing::kept), write_whole(file_, "two", Existing::kept)}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "cannot write " + file_ + ": it is there already");
  }
  EXPECT_EQ(content(), "one");
  EXPECT_EQ(files(), 1);
}

TEST_F(WrittenFile, IsWrittenBesideWhatAKilledProcessOfThisNumberLeft) {
  std::ofstream(file_ + "." + std::to_string(getpid()) + ".0.part") << "half";
  EXPECT_TRUE(write_whole(file_, "one"));
  EXPECT_EQ(content(), "one");
  EXPECT_EQ(files(), 2);
}

TEST_F(WrittenFile, IsSeenWholeOrNotAtAll) {
  const std::string one(100'000, '1'), other(200'000, '2');
  ASSERT_TRUE(write_whole(file_, one));
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (int turn = 0; turn < 40; ++turn)
      EXPECT_TRUE(write_whole(file_, turn % 2 == 0 ? other : one));
    over = true;
  });
  while (!over) {
    const std::string seen = content();
    if (seen != one && seen != other) ADD_FAILURE() << seen.size() << " bytes";
  }
  writer.join();
  EXPECT_EQ(files(), 1);
}

TEST_F(WrittenFile, ThatCannotBeWrittenLeavesWhatWasThere) {
  ASSERT_TRUE(write_whole(file_, "one"));
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit little{1000, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const Status written = write_whole(file_, std::string(2000, 'x'));
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "cannot write " + file_ + ": File too large");
  EXPECT_EQ(content(), "one");
  EXPECT_EQ(files(), 1);
}

TEST_F(WrittenFile, IsCheckedWithoutATrace) {
  EXPECT_TRUE(check_writable(file_, Existing::kept));
  EXPECT_EQ(files(), 0);
  EXPECT_FALSE(check_writable((folder_ / "none" / "file").string(), Existing::replaced));
  EXPECT_FALSE(check_writable(folder_.string(), Existing::replaced));
  fs::create_symlink("/dev/null", file_);
  EXPECT_FALSE(check_writable(file_, Existing::replaced)) << "a symbolic link";
}

} // namespace
} // namespace strata
