// SPDX-License-Identifier: BSD-3-Clause
#include "base/host.h"
#include "new_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace strata {
namespace {

namespace fs = std::filesystem;

/// A folder of control groups, written by hand.
class HostTest : public testing::Test {
protected:
  HostTest() : mount_(new_folder("strata-host-test")) {}
  ~HostTest() override { fs::remove_all(mount_); }
  void put(const std::string& file, const std::string& text) {
    fs::create_directories((mount_ / file).parent_path());
    std::ofstream(mount_ / file) << text;
  }
  std::optional<double> quota(const std::string& groups) { return cpu_quota(groups, mount_.string()); }

  fs::path mount_;
};

TEST_F(HostTest, AVersion2QuotaOfAnOuterGroupCounts) {
  put("jobs/cpu.max", "150000 100000\n");
  put("jobs/7/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/jobs/7\n"), 1.5);
}

TEST_F(HostTest, OfNestedQuotasTheTightestCounts) {
  put("jobs/cpu.max", "400000 100000\n");
  put("jobs/7/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota("0::/jobs/7\n"), 2.0);
}

TEST_F(HostTest, AVersion1QuotaIsFoundUnderTheJoinedControllers) {
  put("cpu,cpuacct/jobs/cpu.cfs_quota_us", "250000\n");
  put("cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("4:memory:/jobs\n3:cpu,cpuacct:/jobs\n0::/\n"), 2.5);
}

TEST_F(HostTest, AContainersOwnRootIsReadWhenItsGroupIsNotMounted) {
  put("cpu/cpu.cfs_quota_us", "100000\n");
  put("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("3:cpu:/docker/0123abcd\n"), 1.0);
}

TEST_F(HostTest, NoLimitAndNonsenseAreNoQuota) {
  put("cpu.max", "max 100000\n");
  put("cpu/cpu.cfs_quota_us", "-1\n");
  put("cpu/cpu.cfs_period_us", "100000\n");
  put("odd/cpu.max", "1 0 0\nx");
  for (const char* groups : {"0::/\n", "1:cpu:/\n", "", "\n\n", "0:", "0::", "0::/odd\n", "::::::", "1:cpu:"})
    EXPECT_EQ(quota(groups), std::nullopt) << groups;
}

TEST(Host, AtLeastOneCoreIsUsableAndNoMoreThanTheMaskAllows) {
  const auto cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_GE(usable_cores(), 1u);
  EXPECT_LE(usable_cores(), cpus.size());
}

TEST(Host, HasOneSocketSpaceForAllOfItsProcesses) {
  EXPECT_NE(socket_space(), 0u);
  EXPECT_EQ(socket_space(), socket_space());
}

} // namespace
} // namespace strata
