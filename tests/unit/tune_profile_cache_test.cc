// SPDX-License-Identifier: BSD-3-Clause
#include "new_folder.h"
#include "tune/profile_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace strata::tune {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr std::int64_t noon = 1795262400, day = 86400;

Profile profile_of(Names hosts, double latency = 25e-6, const std::string& transport = "ucx") {
  Profile profile;
  profile.measured = noon;
  profile.transport = transport;
  profile.hosts = std::move(hosts);
  profile.latency = latency;
  profile.bandwidth = 1e9;
  return profile;
}

class ProfileCacheTest : public testing::Test {
protected:
  ProfileCacheTest() : top_(new_folder("strata-profiles")) {
    folders_ = {(top_ / "user").string(), {(top_ / "site1").string(), (top_ / "site2").string()}};
  }
  ~ProfileCacheTest() override { fs::remove_all(top_); }

  std::string stored(const Profile& profile) const {
    const auto path = store_profile(folders_.of_user, profile);
    EXPECT_TRUE(path) << path.error().message;
    return *path;
  }
  FoundProfile found(const Names& hosts, std::int64_t now = noon, const std::string& transport = "ucx") const {
    return find_profile(folders_, hosts, transport, {now, 30 * day});
  }
  /// Puts a file into the first or second folder of the site.
  std::string put(int site, const std::string& name, const std::string& text) const {
    const fs::path folder = folders_.of_site[static_cast<std::size_t>(site - 1)];
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::group_write | fs::perms::others_write, fs::perm_options::remove);
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }

  fs::path top_;
  ProfileFolders folders_;
};

TEST_F(ProfileCacheTest, WithoutAFileHasNothingToSay) {
  const FoundProfile nothing = found({"n1", "n2"});
  EXPECT_FALSE(nothing.profile);
  EXPECT_EQ(nothing.notes, Names{});
}

TEST_F(ProfileCacheTest, FindsWhatWasStoredForTheseHostsInAnyOrder) {
  const Profile profile = profile_of({"n1", "n2", "n3"});
  const std::string path = stored(profile);
  const FoundProfile again = found({"n3", "n1", "n2", "n1"});
  ASSERT_TRUE(again.profile) << (again.notes.empty() ? "" : again.notes[0]);
  EXPECT_EQ(*again.profile, profile);
  EXPECT_EQ(again.path, path);
  EXPECT_EQ(again.notes, Names{});
}

TEST_F(ProfileCacheTest, KeepsHostsAndTransportsApart) {
  stored(profile_of({"n1", "n2", "n3"}));
  EXPECT_FALSE(found({"n1", "n2"}).profile);
  EXPECT_FALSE(found({"n1", "n2", "n4"}).profile);
  EXPECT_FALSE(found({"n1", "n2", "n3"}, noon, "mpi").profile);
  EXPECT_EQ(found({"n1", "n2"}).notes, Names{});
}

TEST_F(ProfileCacheTest, HasTheLastOneStored) {
  stored(profile_of({"n1", "n2"}, 25e-6));
  stored(profile_of({"n1", "n2"}, 35e-6));
  EXPECT_EQ(found({"n1", "n2"}).profile->latency, 35e-6);
}

TEST_F(ProfileCacheTest, NamesFilesSoThatAPersonFindsThem) {
  const std::string name = profile_file_name(Names{"n2", "n1"}, "ucx");
  EXPECT_EQ(name.substr(0, name.rfind('-')), "n1-2-hosts-ucx");
  EXPECT_EQ(name.size(), std::string("n1-2-hosts-ucx-0123456789abcdef.profile").size());
  EXPECT_EQ(name, profile_file_name(Names{"n1", "n2"}, "ucx")) << "the order does not count";
  EXPECT_NE(name, profile_file_name(Names{"n1", "n3"}, "ucx"));
  EXPECT_NE(profile_file_name(Names{"a", "bc", "d"}, "ucx"), profile_file_name(Names{"a", "b", "cd"}, "ucx"))
      << "the same letters, first host and number of hosts";
  EXPECT_EQ(profile_file_name(Names{"../etc/passwd"}, "a/b").find('/'), std::string::npos);
}

TEST_F(ProfileCacheTest, TreatsABrokenFileAsMissingAndSaysWhy) {
  const std::string path = stored(profile_of({"n1", "n2"}));
  fs::resize_file(path, fs::file_size(path) - 8);
  const FoundProfile broken = found({"n1", "n2"});
  EXPECT_FALSE(broken.profile);
  ASSERT_EQ(broken.notes.size(), 1u);
  EXPECT_NE(broken.notes[0].find(path + ":"), std::string::npos) << broken.notes[0];
  EXPECT_NE(broken.notes[0].find("cut short"), std::string::npos) << broken.notes[0];
}

TEST_F(ProfileCacheTest, TreatsAnOldProfileAsMissingAndSaysWhy) {
  const std::string path = stored(profile_of({"n1", "n2"}));
  EXPECT_TRUE(found({"n1", "n2"}, noon + 30 * day).profile);
  const FoundProfile old = found({"n1", "n2"}, noon + 30 * day + 1);
  EXPECT_FALSE(old.profile);
  EXPECT_EQ(old.notes, Names{path + " is too old: measured 2026-11-21T12:00:00Z, 2592001 s ago (2592000 s at most)"});
}

TEST_F(ProfileCacheTest, TreatsAProfileFromTheFutureAsMissing) {
  stored(profile_of({"n1", "n2"}));
  EXPECT_TRUE(found({"n1", "n2"}, noon - 60).profile) << "clocks differ a little";
  const FoundProfile future = found({"n1", "n2"}, noon - day);
  EXPECT_FALSE(future.profile);
  ASSERT_EQ(future.notes.size(), 1u);
  EXPECT_NE(future.notes[0].find("in the future"), std::string::npos) << future.notes[0];
}

TEST_F(ProfileCacheTest, DoesNotTakeAFileUnderTheNameOfAnother) {
  const std::string path = stored(profile_of({"n1", "n2"}));
  fs::rename(path, fs::path(folders_.of_user) / profile_file_name(Names{"n1", "n9"}, "ucx"));
  const FoundProfile renamed = found({"n1", "n9"});
  EXPECT_FALSE(renamed.profile);
  ASSERT_EQ(renamed.notes.size(), 1u);
  EXPECT_NE(renamed.notes[0].find("of other hosts"), std::string::npos) << renamed.notes[0];
}

TEST_F(ProfileCacheTest, DoesNotTrustAFolderThatOthersMayWriteTo) {
  stored(profile_of({"n1", "n2"}));
  fs::permissions(folders_.of_user, fs::perms::others_write, fs::perm_options::add);
  const FoundProfile untrusted = found({"n1", "n2"});
  EXPECT_FALSE(untrusted.profile);
  ASSERT_EQ(untrusted.notes.size(), 1u);
  EXPECT_NE(untrusted.notes[0].find("may be written by its owner only"), std::string::npos) << untrusted.notes[0];
  EXPECT_FALSE(store_profile(folders_.of_user, profile_of({"n1", "n2"})));
}

TEST_F(ProfileCacheTest, RefusesToStoreWhatCouldNotBeReadBack) {
  Profile wrong = profile_of({"n1", "n2"});
  wrong.bandwidth = -1;
  const auto path = store_profile(folders_.of_user, wrong);
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().message.find("is no rate"), std::string::npos) << path.error().message;
  EXPECT_FALSE(fs::exists(folders_.of_user));
}

TEST_F(ProfileCacheTest, TakesAProfileOfTheSiteThatHasAllHosts) {
  const Profile whole = profile_of({"n1", "n2", "n3", "n4"});
  const std::string path = put(2, "whole.profile", to_text(whole));
  const FoundProfile part = found({"n4", "n2"}, noon + 1000 * day);
  ASSERT_TRUE(part.profile) << "of any age";
  EXPECT_EQ(part.path, path);
  EXPECT_EQ(*part.profile, whole);
  EXPECT_FALSE(found({"n4", "n5"}).profile);
  EXPECT_FALSE(found({"n4", "n2"}, noon, "mpi").profile);
}

TEST_F(ProfileCacheTest, SearchesTheUsersFolderAndThenThoseOfTheSiteInOrder) {
  put(2, "a.profile", to_text(profile_of({"n1", "n2"}, 2e-6)));
  EXPECT_EQ(found({"n1", "n2"}).profile->latency, 2e-6);
  put(1, "b.profile", to_text(profile_of({"n1", "n2"}, 3e-6)));
  EXPECT_EQ(found({"n1", "n2"}).profile->latency, 3e-6);
  put(1, "a.profile", to_text(profile_of({"n1", "n2"}, 4e-6)));
  EXPECT_EQ(found({"n1", "n2"}).profile->latency, 4e-6) << "by name within a folder";
  stored(profile_of({"n1", "n2"}, 5e-6));
  EXPECT_EQ(found({"n1", "n2"}).profile->latency, 5e-6);
}

TEST_F(ProfileCacheTest, PassesOverBrokenFilesOfTheSiteAndSaysSo) {
  const std::string broken = put(1, "a.profile", "strata-profile 1\n");
  put(1, "b.profile", to_text(profile_of({"n1", "n2"})));
  put(1, "readme.txt", "no profile");
  const FoundProfile good = found({"n1", "n2"});
  EXPECT_TRUE(good.profile);
  ASSERT_EQ(good.notes.size(), 1u);
  EXPECT_EQ(good.notes[0].find(broken + ":2: the file is cut short"), 0u) << good.notes[0];
}

TEST_F(ProfileCacheTest, DoesNotReadAFolderOfTheSiteThatAnybodyMayWriteTo) {
  put(1, "a.profile", to_text(profile_of({"n1", "n2"})));
  fs::permissions(folders_.of_site[0], fs::perms::others_write, fs::perm_options::add);
  const FoundProfile untrusted = found({"n1", "n2"});
  EXPECT_FALSE(untrusted.profile);
  EXPECT_EQ(untrusted.notes, Names{folders_.of_site[0] + " may be written by anybody, and is not read"});
}

} // namespace
} // namespace strata::tune
