// SPDX-License-Identifier: BSD-3-Clause
#include "base/host.h"
#include "topo/hwloc/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <numeric>

namespace strata::topo {
namespace {

/// 2 packages of 2 NUMA nodes, each with 2 caches of 4 cores of 2 threads: 64 hardware threads.
const std::string big = "package:2 numa:2 l3:2(size=33554432) l2:4(size=1048576) core:1 pu:2";

std::vector<int> range(int first, int last) {
  std::vector<int> cpus(static_cast<std::size_t>(last - first + 1));
  std::iota(cpus.begin(), cpus.end(), first);
  return cpus;
}

LocalFacts place(const std::string& machine, const std::vector<int>& cpus) {
  const auto facts = place_in_machine({machine, ""}, cpus);
  EXPECT_TRUE(facts) << facts.error().message;
  return facts ? *facts : LocalFacts{};
}

TEST(HwlocPlace, ABindingInsideOneCacheLiesInsideAll) {
  const auto facts = place(big, range(8, 15));
  EXPECT_EQ(facts.place.cache, 8);
  EXPECT_EQ(facts.place.numa, 0);
  EXPECT_EQ(facts.place.package, 0);
  EXPECT_EQ(facts.last_level_cache, 32u << 20);
  EXPECT_EQ(facts.core_cache, 1u << 20);
}

TEST(HwlocPlace, ACacheOfSeveralCoresIsNotOneCoresOwn) {
  EXPECT_EQ(place("package:1 l3:1(size=33554432) l2:2(size=4194304) core:2 pu:1", {0}).core_cache, 0u);
  EXPECT_EQ(place(big, {0}).core_cache, 0u) << "another process may have the other thread";
  EXPECT_EQ(place(big, {0, 1, 2}).core_cache, 1u << 20);
}

TEST(HwlocPlace, OneHardwareThreadLiesInsideTheLargestCacheAroundIt) {
  const auto facts = place(big, {63});
  EXPECT_EQ(facts.place.cache, 56) << "the number of the L3's first hardware thread, not of the L2's";
  EXPECT_EQ(facts.place.numa, 3);
  EXPECT_EQ(facts.place.package, 32);
}

TEST(HwlocPlace, ABindingAcrossCachesLiesInsideNone) {
  const auto facts = place(big, range(4, 11));
  EXPECT_EQ(facts.place.cache, -1);
  EXPECT_EQ(facts.place.numa, 0);
  EXPECT_EQ(facts.place.package, 0);
  EXPECT_EQ(facts.last_level_cache, 32u << 20);
}

TEST(HwlocPlace, ABindingToAPackageLiesInsideNoNumaNode) {
  const auto facts = place(big, range(32, 63));
  EXPECT_EQ(facts.place.cache, -1);
  EXPECT_EQ(facts.place.numa, -1);
  EXPECT_EQ(facts.place.package, 32);
}

TEST(HwlocPlace, AnUnboundProcessLiesInsideNothing) {
  const auto facts = place(big, range(0, 63));
  EXPECT_EQ(facts.place.cache, -1);
  EXPECT_EQ(facts.place.numa, -1);
  EXPECT_EQ(facts.place.package, -1);
}

TEST(HwlocPlace, TwoThreadsAtBothEndsLieInsideNothing) {
  const auto facts = place(big, {0, 63});
  EXPECT_EQ(facts.place.cache, -1);
  EXPECT_EQ(facts.place.package, -1);
}

TEST(HwlocPlace, ACacheMayHoldSeveralNumaNodes) {
  const auto facts = place("package:1 l3:1(size=1048576) numa:2 core:4 pu:1", range(4, 7));
  EXPECT_EQ(facts.place.cache, 0);
  EXPECT_EQ(facts.place.numa, 1);
}

TEST(HwlocPlace, AMachineWithoutCachesOrPackagesIsTaken) {
  const auto facts = place("numa:1 pu:4", {0, 1});
  EXPECT_EQ(facts.place.cache, -1);
  EXPECT_EQ(facts.place.package, -1);
  EXPECT_EQ(facts.place.numa, 0);
  EXPECT_EQ(facts.last_level_cache, 0u);
  EXPECT_EQ(facts.core_cache, 0u);
}

TEST(HwlocPlace, CoresThatTheMachineDoesNotHaveAreNoPlace) {
  for (const auto& cpus : {std::vector<int>{}, std::vector<int>{4096}}) {
    const auto facts = place(big, cpus);
    EXPECT_EQ(facts.place.cache, -1);
    EXPECT_EQ(facts.place.numa, -1);
    EXPECT_EQ(facts.place.package, -1);
  }
}

TEST(HwlocPlace, DescribesTheMachineInOneLine) {
  EXPECT_EQ(place(big, {0}).machine, "2 packages, 4 NUMA nodes, 32 cores, 64 hardware threads, 8 x 32 MiB L3");
  EXPECT_EQ(place("package:1 l2:1(size=1536000) core:2 pu:1", {0}).machine, "1 package, 2 cores, 1500 KiB L2");
}

TEST(HwlocPlace, RefusesAMachineThatHwlocDoesNotTake) {
  const auto facts = place_in_machine({"package:zero", {}}, std::vector<int>{0});
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().message, "hwloc does not take the machine \"package:zero\"");
}

TEST(HwlocPlace, BlocksOfASyntheticMachineBecomeLevels) {
  std::vector<RankFacts> ranks;
  for (int rank = 0; rank < 16; ++rank)
    ranks.push_back(place(big, range(4 * rank, 4 * rank + 3)).place);
  const auto hierarchy = hierarchy_from(ranks);
  ASSERT_EQ(hierarchy.levels.size(), 4u);
  EXPECT_EQ(hierarchy.levels[0].name, "cache");
  EXPECT_EQ(hierarchy.levels[0].groups, 8);
  EXPECT_EQ(hierarchy.levels[1].name, "numa");
  EXPECT_EQ(hierarchy.levels[2].name, "package");
  EXPECT_EQ(hierarchy.levels[3].name, "node");
}

TEST(HwlocPlace, KnowsThisMachineAndLeavesTheBindingAlone) {
  const auto before = allowed_cpus();
  const auto facts = place({}, before);
  EXPECT_FALSE(facts.machine.empty());
  EXPECT_EQ(allowed_cpus(), before);
}

/// Seconds of processor time that this thread has used.
double busy_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The limit leaves room for a sanitizer's build; 1 to 3 ms are usual.
TEST(HwlocPlace, DoesNotTakeLong) {
  const auto cpus = allowed_cpus();
  double least = 1;
  for (int round = 0; round < 5; ++round) {
    const double begin = busy_seconds();
    place({}, cpus);
    least = std::min(least, busy_seconds() - begin);
  }
  EXPECT_LT(least, 0.03);
}

std::vector<RankFacts> cores_of(const MachineWords& words) {
  const auto cores = cores_in_machine(words);
  EXPECT_TRUE(cores) << (cores ? "" : cores.error().message);
  return cores ? *cores : std::vector<RankFacts>{};
}

TEST(HwlocCores, LieWhereAProcessBoundToThemWould) {
  const auto cores = cores_of({big, ""});
  ASSERT_EQ(cores.size(), 32u);
  for (int core = 0; core < 32; ++core) {
    const RankFacts bound = place(big, {2 * core}).place, found = cores[static_cast<std::size_t>(core)];
    EXPECT_EQ(found.cache, bound.cache) << core;
    EXPECT_EQ(found.numa, bound.numa) << core;
    EXPECT_EQ(found.package, bound.package) << core;
  }
}

TEST(HwlocCores, AreHardwareThreadsWhereNoCoresAreKnown) { EXPECT_EQ(cores_of({"package:2 pu:3", ""}).size(), 6u); }

TEST(HwlocCores, AreNotInWhatIsNoMachine) {
  for (const char* text : {"nonsense", "<?xml version=\"1.0\"?><topology version=\"2.0\"></topology>", "<a/>"}) {
    const auto cores = cores_in_machine({"", text});
    ASSERT_FALSE(cores) << text;
    EXPECT_NE(cores.error().message.find("lstopo"), std::string::npos) << cores.error().message;
  }
}

// Two packages. Behind a switch in the first are a GPU and two ports of a NIC; another NIC is elsewhere in the package,
// where a second GPU is; in the second package are a third GPU and no NIC.
constexpr const char* with_devices = R"(<?xml version="1.0" encoding="UTF-8"?>
<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x1"
         complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
  <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1"
          gp_index="2" local_memory="1073741824"/>
  <object type="Package" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
          gp_index="3">
   <object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
           gp_index="4">
    <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
            gp_index="5"/>
   </object>
   <object type="Bridge" gp_index="6" bridge_type="0-1" depth="0" bridge_pci="0000:[00-0f]">
    <object type="Bridge" gp_index="7" bridge_type="1-1" depth="1" bridge_pci="0000:[01-02]" pci_busid="0000:00:01.0"
            pci_type="0604 [8086:1901] [0000:0000] 05" pci_link_speed="0.000000">
     <object type="PCIDev" gp_index="8" pci_busid="0000:01:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1"
             pci_link_speed="0.000000"/>
     <object type="PCIDev" gp_index="9" pci_busid="0000:02:00.0" pci_type="0207 [15b3:1021] [15b3:0023] 00"
             pci_link_speed="0.000000">
      <object type="OSDev" gp_index="10" name="ib0" osdev_type="2"/>
      <object type="OSDev" gp_index="11" name="mlx5_0" osdev_type="3"/>
     </object>
    </object>
    <object type="PCIDev" gp_index="12" pci_busid="0000:03:00.0" pci_type="0200 [8086:1521] [8086:0001] 01"
            pci_link_speed="0.000000">
     <object type="OSDev" gp_index="13" name="eth0" osdev_type="2"/>
    </object>
    <object type="PCIDev" gp_index="14" pci_busid="0000:04:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1"
            pci_link_speed="0.000000"/>
   </object>
  </object>
  <object type="Package" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1"
          gp_index="15">
   <object type="Core" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1"
           gp_index="16">
    <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1"
            gp_index="17"/>
   </object>
   <object type="Bridge" gp_index="18" bridge_type="0-1" depth="0" bridge_pci="0000:[80-8f]">
    <object type="PCIDev" gp_index="19" pci_busid="0000:81:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1"
            pci_link_speed="0.000000"/>
   </object>
  </object>
 </object>
</topology>)";

std::vector<std::string> near(const char* pci_address) {
  const auto names = networks_in_machine({"", with_devices}, pci_address);
  EXPECT_TRUE(names) << (names ? "" : names.error().message);
  return names ? *names : std::vector<std::string>{};
}

TEST(HwlocNetworks, AreThoseBehindTheSameSwitch) {
  EXPECT_EQ(near("0000:01:00.0"), (std::vector<std::string>{"ib0", "mlx5_0"}));
}

TEST(HwlocNetworks, AreThoseInTheSmallestPartThatHasAny) {
  EXPECT_EQ(near("0000:04:00.0"), (std::vector<std::string>{"eth0", "ib0", "mlx5_0"}));
  EXPECT_EQ(near("0000:81:00.0").size(), 3u) << "of the other package, as there are none in its own";
}

DevicePlace place(const char* pci_address) {
  const auto found = device_in_machine({"", with_devices}, pci_address);
  EXPECT_TRUE(found) << (found ? "" : found.error().message);
  return found ? *found : DevicePlace{};
}

constexpr std::int32_t on_pci(std::int32_t bus, std::int32_t device) { return bus << 8 | device << 3; }

TEST(HwlocDevices, LieBehindTheBridgeNextToTheProcessor) {
  EXPECT_EQ(place("0000:01:00.0").bridge, on_pci(0, 1));
  EXPECT_EQ(place("0000:02:00.0").bridge, on_pci(0, 1));
  EXPECT_EQ(place("0000:04:00.0").bridge, -1) << "it is behind none";
}

TEST(HwlocDevices, HaveTheFirstOfTheCardsNearestToThem) {
  EXPECT_EQ(place("0000:01:00.0").card, on_pci(2, 0));
  EXPECT_EQ(place("0000:04:00.0").card, on_pci(2, 0)) << "of three in its package";
  EXPECT_EQ(place("0000:81:00.0").card, -1) << "what is nearest is as near to all of the machine";
}

TEST(HwlocDevices, LieInAPackage) {
  EXPECT_EQ(place("0000:01:00.0").package, 0);
  EXPECT_EQ(place("0000:81:00.0").package, 1);
  EXPECT_EQ(place("0000:81:00.0").numa, 0) << "the only one";
}

TEST(HwlocDevices, AreNowhereWhenTheyAreNotThere) {
  DevicePlace nowhere;
  nowhere.address = "0000:7f:00.0";
  EXPECT_EQ(place("0000:7f:00.0"), nowhere);
}

TEST(HwlocNetworks, AreNoneOfADeviceThatIsNotThere) {
  EXPECT_TRUE(near("0000:7f:00.0").empty());
  EXPECT_TRUE(near("nonsense").empty());
}

} // namespace
} // namespace strata::topo
