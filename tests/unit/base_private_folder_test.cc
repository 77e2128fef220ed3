// SPDX-License-Identifier: BSD-3-Clause
#include "base/private_folder.h"
#include "new_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace strata {
namespace {

namespace fs = std::filesystem;

class PrivateFolderTest : public testing::Test {
protected:
  PrivateFolderTest() : top_(new_folder("strata-private")) {}
  ~PrivateFolderTest() override { fs::remove_all(top_); }

  std::string folder() const { return (top_ / "kept/strata").string(); }
  fs::path file() const { return fs::path(folder()) / "a"; }

  /// What a reader gets: the text, "nothing", or the reason.
  std::string read(std::size_t most_bytes = 1 << 20) const {
    const auto text = read_private(folder(), "a", most_bytes);
    return !text ? text.error().message : *text ? **text : "nothing";
  }
  std::string write(const std::string& text) const {
    const auto status = replace_private(folder(), "a", text);
    return status ? "" : status.error().message;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder()))
      all.push_back(entry.path().filename().string());
    return all;
  }
  static unsigned mode(const fs::path& path) {
    struct stat facts = {};
    EXPECT_EQ(lstat(path.c_str(), &facts), 0) << path;
    return facts.st_mode & 0777;
  }

  fs::path top_;
};

TEST_F(PrivateFolderTest, ThatIsNotThereHasNothing) { EXPECT_EQ(read(), "nothing"); }

TEST_F(PrivateFolderTest, IsMadeForTheUserAlone) {
  const mode_t before = umask(0);
  EXPECT_EQ(write("one"), "");
  umask(before);
  EXPECT_EQ(mode(top_ / "kept"), 0700u);
  EXPECT_EQ(mode(folder()), 0700u);
  EXPECT_EQ(mode(file()), 0600u);
}

TEST_F(PrivateFolderTest, GivesBackWhatWasWrittenLast) {
  EXPECT_EQ(write("one"), "");
  EXPECT_EQ(write(std::string(100000, 'x')), "");
  EXPECT_EQ(read(), std::string(100000, 'x'));
  EXPECT_EQ(write(""), "");
  EXPECT_EQ(read(), "");
  EXPECT_EQ(names(), std::vector<std::string>{"a"}) << "nothing else is left";
}

TEST_F(PrivateFolderTest, ThatOthersMayWriteToIsNeitherReadNorWritten) {
  ASSERT_EQ(write("one"), "");
  fs::permissions(folder(), fs::perms::group_write, fs::perm_options::add);
  const std::string reason = folder() + " has mode 720, and may be written by its owner only";
  EXPECT_EQ(read(), reason);
  EXPECT_EQ(write("two"), reason);
}

TEST_F(PrivateFolderTest, OfAnotherUserIsNeitherReadNorWritten) {
  ASSERT_EQ(write("one"), "");
  std::string of_another = "/"; // root's
  if (geteuid() == 0) {
    of_another = folder();
    ASSERT_EQ(chown(of_another.c_str(), 12345, 12345), 0);
  }
  const auto text = read_private(of_another, "a", 100);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find(of_another + " belongs to user "), std::string::npos) << text.error().message;
  const auto status = replace_private(of_another, "a", "two");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, text.error().message);
}

TEST_F(PrivateFolderTest, DoesNotReadAFileThatOthersMayWriteTo) {
  ASSERT_EQ(write("one"), "");
  fs::permissions(file(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(read(), file().string() + " has mode 602, and may be written by its owner only");
}

TEST_F(PrivateFolderTest, FollowsNoLinkOfAFileAndWaitsForNoPipe) {
  ASSERT_EQ(write("one"), "");
  fs::rename(file(), top_ / "elsewhere");
  fs::create_symlink(top_ / "elsewhere", file());
  EXPECT_NE(read().find("cannot open " + file().string()), std::string::npos) << read();
  EXPECT_EQ(write("two"), "");
  EXPECT_EQ(read(), "two");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(std::ifstream(top_ / "elsewhere").rdbuf()), {}), "one")
      << "the link is replaced, not written through";
  fs::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  EXPECT_EQ(read(), file().string() + " is no ordinary file");
}

TEST_F(PrivateFolderTest, MayBeALinkToAFolderOfTheUsers) {
  fs::create_directories(top_ / "kept");
  fs::create_directory(top_ / "large");
  fs::permissions(top_ / "large", fs::perms::owner_all);
  fs::create_directory_symlink(top_ / "large", folder());
  EXPECT_EQ(write("one"), "");
  EXPECT_EQ(read(), "one");
}

TEST_F(PrivateFolderTest, DoesNotReadMoreThanAsked) {
  ASSERT_EQ(write(std::string(100, 'x')), "");
  EXPECT_EQ(read(100), std::string(100, 'x'));
  EXPECT_EQ(read(99), "cannot read " + file().string() + ": it is larger than 99");
}

TEST_F(PrivateFolderTest, ThatCannotBeMadeIsAnError) {
  std::ofstream(top_ / "kept") << "a file";
  EXPECT_NE(write("one").find(top_.string()), std::string::npos) << write("one");
  const auto status = replace_private("somewhere", "a", "one");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "folder 'somewhere' has no full path");
}

TEST_F(PrivateFolderTest, IsClearedOfWhatWritersThatDiedLeftLongAgo) {
  ASSERT_EQ(write("one"), "");
  for (const char* name : {".unfinished-a-1-old", ".unfinished-a-2-new", ".other"})
    std::ofstream(fs::path(folder()) / name) << "half";
  const auto two_hours_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  fs::last_write_time(fs::path(folder()) / ".unfinished-a-1-old", two_hours_ago);
  fs::last_write_time(fs::path(folder()) / ".other", two_hours_ago);
  EXPECT_EQ(write("two"), "");
  auto left = names();
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{".other", ".unfinished-a-2-new", "a"}));
}

/// Writes texts of one letter each, of different lengths, until `rounds` are done; false when one failed.
bool write_rounds(const std::string& folder, char letter, int rounds) {
  for (int round = 0; round < rounds; ++round)
    if (!replace_private(folder, "a", std::string(static_cast<std::size_t>(20000 + 997 * round), letter))) return false;
  return true;
}

TEST_F(PrivateFolderTest, NeverHasAHalfFileWhileProcessesAndThreadsWrite) {
  constexpr int rounds = 40;
  ASSERT_EQ(write("c"), "");
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) _exit(write_rounds(folder(), 'a', rounds) ? 0 : 1);
  bool written = false;
  std::thread writer([&] { written = write_rounds(folder(), 'b', rounds); });
  int status = 0;
  bool over = false;
  do { // once at least after the other process has ended
    over = waitpid(other, &status, WNOHANG) != 0;
    const std::string text = read();
    EXPECT_EQ(text.find_first_not_of(text[0]), std::string::npos) << "a mixture";
    EXPECT_TRUE(text == "c" || (text.size() >= 20000 && (text.size() - 20000) % 997 == 0)) << text.size() << " bytes";
  } while (!over);
  writer.join();
  EXPECT_TRUE(written);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

} // namespace
} // namespace strata
