// SPDX-License-Identifier: BSD-3-Clause
#include "base/core_share.h"
#include "base/host.h"
#include "new_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace strata {
namespace {

namespace fs = std::filesystem;

/// A folder of control groups or of devices, written by hand.
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

TEST_F(HostTest, ADeviceIsNearestToTheNumaNodeThatTheKernelNames) {
  put("0000:3b:00.0/numa_node", "1\n");
  put("0000:af:00.0/numa_node", "12\n");
  const auto node = [&](const char* address) { return numa_node_of_pci(address, mount_.string()); };
  EXPECT_EQ(node("0000:3b:00.0"), 1);
  EXPECT_EQ(node("0000:3B:00.0"), 1) << "as CUDA has it; the kernel's letters are small";
  EXPECT_EQ(node("0000:AF:00.0"), 12);
}

TEST_F(HostTest, ADeviceWhoseNumaNodeTheKernelDoesNotSayIsNearNone) {
  put("0000:01:00.0/numa_node", "-1\n");
  put("0000:02:00.0/numa_node", "none\n");
  put("0000:03:00.0/vendor", "0x10de\n");
  for (const char* address : {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0", "", "nonsense"})
    EXPECT_EQ(numa_node_of_pci(address, mount_.string()), -1) << address;
}

TEST(Cores, AreAtLeastOneAndNoMoreThanTheMaskAndTheQuotaAllow) {
  const auto cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  const auto usable = cores_together(std::vector{core_share()});
  EXPECT_GE(usable, 1u);
  EXPECT_LE(usable, cpus.size());
  if (const auto quota = cpu_quota()) {
    EXPECT_LT(usable, *quota + 1);
  } else {
    EXPECT_EQ(usable, cpus.size());
  }
}

TEST(Cores, AreThoseOfAllMasksTogether) {
  const auto one = [](std::uint64_t mask, std::uint32_t threads) { return CoreShare{mask, threads, 0, 8}; };
  const auto together = [](const std::vector<CoreShare>& processes) { return cores_together(processes); };
  EXPECT_EQ(together({one(1, 1)}), 1u);
  EXPECT_EQ(together({one(1, 8)}), 8u);
  EXPECT_EQ(together({one(1, 1), one(2, 1), one(3, 1)}), 3u) << "each is bound to a core of its own";
  EXPECT_EQ(together({one(1, 4), one(1, 4), one(2, 4), one(2, 4)}), 8u) << "to a socket";
  EXPECT_EQ(together({one(1, 8), one(2, 1)}), 8u) << "one is not bound; the machine has no more";
  EXPECT_EQ(together(std::vector<CoreShare>(16, one(1, 8))), 8u);
  EXPECT_EQ(together({}), 1u);
}

TEST(Cores, AreFewerWhereSomeShareOne) {
  const CoreShare first{1, 1, 0, 8}, second{2, 1, 0, 8}, four{3, 4, 0, 8};
  EXPECT_EQ(cores_together(std::vector{first, first}), 1u);
  EXPECT_EQ(cores_together(std::vector{first, first, second, four}), 2u) << "all wait for the two";
  EXPECT_EQ(cores_together(std::vector{first, first, first, second}), 1u);
}

TEST(Cores, AreAsManyAsAQuotaLeaves) {
  EXPECT_EQ(cores_together(std::vector{CoreShare{1, 1, 3, 8}, {2, 1, 3, 8}, {3, 1, 3, 8}, {4, 1, 3, 8}}), 3u);
  EXPECT_EQ(cores_together(std::vector{CoreShare{1, 8, 1, 8}}), 1u);
}

TEST(Cores, AreSharedAsThisProcessMay) {
  const CoreShare share = core_share();
  EXPECT_EQ(share.threads, allowed_cpus().size());
  EXPECT_GE(share.machine, share.threads);
  EXPECT_EQ(share.mask, core_share().mask);
}

TEST(Host, HasOneSocketSpaceForAllOfItsProcesses) {
  EXPECT_NE(socket_space(), 0u);
  EXPECT_EQ(socket_space(), socket_space());
}

} // namespace
} // namespace strata
