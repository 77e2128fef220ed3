// SPDX-License-Identifier: BSD-3-Clause
// What a process takes over from profiles that earlier jobs, an administrator or the user left, and what it leaves.
#include "new_folder.h"

#include "base/options.h"
#include "comm/known_links.h"
#include "tune/profile_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>

namespace strata::comm {
namespace {

namespace fs = std::filesystem;

/// With folders of the user's and of the site's that are empty.
class KnownLinksTest : public testing::Test {
protected:
  using Names = std::vector<std::string>;
  static constexpr std::int64_t day = 24 * 3600;

  KnownLinksTest() {
    if (const char* cache = std::getenv("XDG_CACHE_HOME")) cache_before_ = cache;
    setenv("XDG_CACHE_HOME", top_.c_str(), 1);
    fs::create_directory(site_);
    fs::permissions(site_, fs::perms::group_write | fs::perms::others_write, fs::perm_options::remove);
  }
  ~KnownLinksTest() override {
    if (cache_before_)
      setenv("XDG_CACHE_HOME", cache_before_->c_str(), 1);
    else
      unsetenv("XDG_CACHE_HOME");
    fs::remove_all(top_);
  }

  /// Of hosts n1 and n2, as it was measured so many seconds ago.
  static tune::Profile measured_before(std::int64_t seconds, double latency = 25e-6) {
    tune::Profile profile;
    profile.measured = std::time(nullptr) - seconds;
    profile.transport = "ucx";
    profile.hosts = hosts;
    profile.latency = latency;
    profile.bandwidth = 1e9;
    return profile;
  }
  /// As an earlier job leaves it. \return the path
  static std::string left_by_a_job(const tune::Profile& profile) {
    const auto path = tune::store_profile(cache_folder(), profile);
    EXPECT_TRUE(path) << path.error().message;
    return path ? *path : std::string();
  }
  static std::string write(const fs::path& file, const std::string& text) {
    std::ofstream(file) << text;
    return file.string();
  }
  std::string left_by_the_site(const tune::Profile& profile) const {
    return write(fs::path(site_) / "a.profile", tune::to_text(profile));
  }
  std::string left_by_the_user(const tune::Profile& profile) const {
    return write(top_ / "shipped", tune::to_text(profile));
  }

  /// What another process is told.
  KnownLinks::Found known(const std::string& source, const Names& of_hosts = hosts) const {
    KnownLinks links(false, site_);
    return links.find(source, of_hosts, "ucx");
  }
  static void expect_nothing(const KnownLinks::Found& found, const std::string& complaint = "") {
    EXPECT_EQ(found.known.origin, Origin::none);
    EXPECT_EQ(found.known.text, "");
    EXPECT_EQ(found.complaint, complaint);
  }

  inline static const Names hosts{"n1", "n2"};
  const fs::path top_ = new_folder("strata-known-links");
  const std::string site_ = (top_ / "site").string();
  std::optional<std::string> cache_before_;
};

TEST_F(KnownLinksTest, AreThoseThatAnEarlierJobMeasuredThisWeek) {
  const tune::Profile profile = measured_before(6 * day);
  const std::string path = left_by_a_job(profile);
  const KnownLinks::Found found = known("cache");
  EXPECT_EQ(found.known.origin, Origin::earlier_job);
  EXPECT_EQ(found.known.text, tune::to_text(profile));
  EXPECT_EQ(found.known.path, path);
  EXPECT_EQ(found.notes, Names{"links between 2 hosts as measured before: " + path});
  EXPECT_EQ(found.complaint, "");
}

TEST_F(KnownLinksTest, AreNotThoseOfTheWeekBefore) {
  const std::string path = left_by_a_job(measured_before(8 * day));
  const KnownLinks::Found found = known("cache");
  expect_nothing(found);
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_TRUE(found.notes[0].starts_with(path + " is too old: measured ")) << found.notes[0];
  EXPECT_TRUE(found.notes[0].ends_with(" s ago (604800 s at most)")) << found.notes[0];
}

TEST_F(KnownLinksTest, AreNoneWhenNobodyLeftAny) {
  const KnownLinks::Found found = known("cache");
  expect_nothing(found);
  EXPECT_EQ(found.notes, Names{});
}

TEST_F(KnownLinksTest, AreNotLookedForWhenTheUserWantsNone) {
  left_by_a_job(measured_before(day));
  left_by_the_site(measured_before(day));
  const KnownLinks::Found found = known("none");
  expect_nothing(found);
  EXPECT_EQ(found.notes, Names{});
}

TEST_F(KnownLinksTest, AreThoseOfTheFileThatTheUserNames) {
  left_by_a_job(measured_before(day, 35e-6));
  tune::Profile whole = measured_before(1000 * day);
  whole.hosts = {"n1", "n2", "n3", "n4"};
  const std::string path = left_by_the_user(whole);
  const KnownLinks::Found found = known(path, {"n2", "n4"});
  EXPECT_EQ(found.known.origin, Origin::file);
  EXPECT_EQ(found.known.path, path);
  EXPECT_EQ(found.notes, Names{});
  EXPECT_EQ(found.complaint, "");
  const auto profile = tune::profile_from(found.known.text, "known");
  ASSERT_TRUE(profile) << profile.error().message;
  tune::Profile part = whole;
  part.hosts = {"n2", "n4"};
  EXPECT_EQ(*profile, part) << found.known.text;
}

TEST_F(KnownLinksTest, OfAFileThatLacksAHostAreRefused) {
  const std::string path = left_by_the_user(measured_before(day));
  expect_nothing(known(path, {"n1", "n3"}),
                 fmt::format("STRATA_PROFILE={} is not used: it says nothing of host n3", path));
}

TEST_F(KnownLinksTest, OfAFileThatWasCutShortAreRefused) {
  const std::string path = write(top_ / "shipped", "strata-profile 1\n"
                                                   "measured 2026-11-21T12:00:00Z ucx\n"
                                                   "host n1 n2\n"
                                                   "node latency=25us band");
  expect_nothing(known(path), fmt::format("STRATA_PROFILE={0} is not used: {0}:4: the file is cut short: there is no "
                                          "'end' ('end 3' after what is here)",
                                          path));
}

TEST_F(KnownLinksTest, OfAFileThatIsNotThereAreRefused) {
  left_by_a_job(measured_before(day));
  const std::string path = (top_ / "nowhere").string();
  expect_nothing(known(path), fmt::format("STRATA_PROFILE={} is not used: No such file or directory", path));
}

TEST_F(KnownLinksTest, OfAFileOfAnotherTransportAreUsedWithANote) {
  tune::Profile profile = measured_before(day);
  profile.transport = "mpi";
  const std::string path = left_by_the_user(profile);
  const KnownLinks::Found found = known(path);
  EXPECT_EQ(found.known.origin, Origin::file);
  EXPECT_EQ(found.known.text, tune::to_text(profile));
  EXPECT_EQ(found.notes, Names{path + " was measured over mpi, and this job uses ucx"});
  EXPECT_EQ(found.complaint, "");
}

TEST_F(KnownLinksTest, OfAFileAreReadOnceForASetOfHosts) {
  tune::Profile whole = measured_before(day);
  whole.hosts.push_back("n3");
  const std::string path = left_by_the_user(whole);
  KnownLinks links(false, site_);
  const KnownLinks::Found first = links.find(path, hosts, "ucx");
  fs::remove(path);
  const KnownLinks::Found second = links.find(path, hosts, "ucx");
  EXPECT_EQ(second.known.origin, Origin::file);
  EXPECT_EQ(second.known.text, first.known.text);
  EXPECT_NE(links.find(path, whole.hosts, "ucx").complaint, "") << "it is gone for other hosts";
}

TEST_F(KnownLinksTest, AreThoseThatThisJobMeasuredLast) {
  left_by_a_job(measured_before(day, 35e-6));
  const tune::Profile measured = measured_before(0);
  KnownLinks links(false, site_);
  EXPECT_EQ(links.find("cache", hosts, "ucx").known.origin, Origin::earlier_job);
  links.keep(measured, "cache");
  const KnownLinks::Found found = links.find("cache", hosts, "ucx");
  EXPECT_EQ(found.known.origin, Origin::this_job);
  EXPECT_EQ(found.known.text, tune::to_text(measured));
  EXPECT_EQ(found.notes, Names{});
  expect_nothing(links.find("cache", {"n1", "n3"}, "ucx"));
}

TEST_F(KnownLinksTest, AreLeftForLaterJobsAtTheEnd) {
  const tune::Profile measured = measured_before(0);
  {
    KnownLinks links(false, site_);
    links.keep(measured_before(60, 35e-6), "cache");
    links.keep(measured, "cache");
    expect_nothing(known("cache"));
  }
  const KnownLinks::Found found = known("cache");
  EXPECT_EQ(found.known.origin, Origin::earlier_job);
  EXPECT_EQ(found.known.text, tune::to_text(measured)) << "the last one";
}

TEST_F(KnownLinksTest, ThatCallsContradictAreLeftForNobody) {
  const tune::Profile measured = measured_before(0);
  {
    KnownLinks links(false, site_);
    links.keep(measured, "cache");
    links.forget(measured, "cache");
    expect_nothing(links.find("cache", hosts, "ucx"));
  }
  expect_nothing(known("cache"));
}

TEST_F(KnownLinksTest, AreNotLeftByAJobThatUsesNoCache) {
  const std::string path = (top_ / "shipped").string();
  {
    KnownLinks links(false, site_);
    links.keep(measured_before(0), "none");
    links.keep(measured_before(0), path);
    EXPECT_EQ(links.find(path, hosts, "ucx").known.origin, Origin::this_job);
  }
  EXPECT_FALSE(fs::exists(cache_folder())) << cache_folder();
  EXPECT_FALSE(fs::exists(path)) << path;
}

TEST_F(KnownLinksTest, AreThoseOfTheSiteWhereTheUserHasNone) {
  const tune::Profile profile = measured_before(1000 * day);
  const std::string path = left_by_the_site(profile);
  const KnownLinks::Found found = known("cache");
  EXPECT_EQ(found.known.origin, Origin::site) << "of any age";
  EXPECT_EQ(found.known.text, tune::to_text(profile));
  EXPECT_EQ(found.known.path, path);
  EXPECT_EQ(found.notes, Names{"links between 2 hosts as measured before: " + path});
}

TEST_F(KnownLinksTest, AreTheUsersBeforeThoseOfTheSite) {
  left_by_the_site(measured_before(day, 20e-6));
  const tune::Profile of_user = measured_before(6 * day, 30e-6);
  left_by_a_job(of_user);
  EXPECT_EQ(known("cache").known.origin, Origin::earlier_job);
  EXPECT_EQ(known("cache").known.text, tune::to_text(of_user));
  left_by_a_job(measured_before(8 * day, 30e-6));
  EXPECT_EQ(known("cache").known.origin, Origin::site) << "the user's is too old";
}

TEST_F(KnownLinksTest, AreNotReadFromAFolderOfTheSiteThatAnybodyMayWriteTo) {
  left_by_the_site(measured_before(day));
  fs::permissions(site_, fs::perms::others_write, fs::perm_options::add);
  const KnownLinks::Found found = known("cache");
  expect_nothing(found);
  EXPECT_EQ(found.notes, Names{site_ + " may be written by anybody, and is not read"});
}

} // namespace
} // namespace strata::comm
