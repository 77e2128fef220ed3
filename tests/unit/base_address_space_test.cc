// SPDX-License-Identifier: BSD-3-Clause
#include "base/address_space.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace strata {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// Whether `holds` in a child process that may map `more` bytes than it has.
bool holds_with(std::uint64_t more, const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) {
    rlimit limit{std::uint64_t{1} << 60, RLIM_INFINITY};
    ::setrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur -= *address_space_left() - more; // what it has, and more
    ::setrlimit(RLIMIT_AS, &limit);
    ::_exit(holds() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(AddressSpaceTest, WithoutALimitEverythingIsAllowed) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &limit), 0);
  if (limit.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "this shell has a limit (ulimit -v)";
  EXPECT_FALSE(address_space_left());
  EXPECT_TRUE(may_map(std::uint64_t{1} << 50, "a file"));
  EXPECT_EQ(fair_share(256 * mib, 1000), 256 * mib);
}

TEST(AddressSpaceTest, WhatIsLeftIsTheLimitLessWhatIsMapped) {
  EXPECT_TRUE(holds_with(100 * mib, [] { return *address_space_left() <= 100 * mib; }));
  EXPECT_TRUE(holds_with(100 * mib, [] { return *address_space_left() >= 99 * mib; }));
}

TEST(AddressSpaceTest, AQuarterOfWhatIsLeftMayBeMapped) {
  EXPECT_TRUE(holds_with(100 * mib, [] { return static_cast<bool>(may_map(24 * mib, "a file")); }));
  EXPECT_TRUE(holds_with(100 * mib, [] {
    const Status refused = may_map(26 * mib, "a file");
    return !refused && refused.error().kind == ErrorKind::resource &&
           refused.error().message.find("a file takes 27262976 bytes of address space") == 0;
  }));
}

TEST(AddressSpaceTest, ProcessesThatMapEachOthersFilesShareTheQuarter) {
  EXPECT_TRUE(holds_with(800 * mib, [] {
    const std::size_t share = fair_share(256 * mib, 3);
    return share <= 50 * mib && share >= 49 * mib;
  }));
  EXPECT_TRUE(holds_with(800 * mib, [] { return fair_share(mib, 3) == mib; }));
}

TEST(AddressSpaceTest, ALimitThatIsReachedLeavesNothing) {
  EXPECT_TRUE(holds_with(0, [] { return address_space_left() == std::uint64_t{0}; }));
}

} // namespace
} // namespace strata
