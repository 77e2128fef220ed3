// SPDX-License-Identifier: BSD-3-Clause
// Which of UCX's network devices are kept to, without UCX.
#include "new_folder.h"
#include "transport/network_cards.h"

#include <fstream>

namespace strata::transport {
namespace {

constexpr const char* where = "device 0 at 0000:3b:00.0";

NearCards near_to(std::vector<std::string> names) { return {true, where, std::move(names), ""}; }

std::vector<std::string> chosen(const std::vector<NetworkDevice>& devices, std::vector<std::string> near) {
  return choose_cards("all", devices, near_to(std::move(near))).names;
}

std::string why_all(const std::vector<NetworkDevice>& devices, std::vector<std::string> near,
                    const char* set_by_user = "all") {
  const CardChoice choice = choose_cards(set_by_user, devices, near_to(std::move(near)));
  EXPECT_EQ(choice.names, std::vector<std::string>{}) << choice.why;
  return choice.why;
}

using Names = std::vector<std::string>;

TEST(NetworkCards, AreThoseThatAreNear) {
  EXPECT_EQ(chosen({{"eth0"}, {"eth1"}, {"eth2"}, {"eth3"}}, {"eth1", "eth3", "eth9"}), (Names{"eth1", "eth3"}));
  EXPECT_EQ(choose_cards("", std::vector<NetworkDevice>{{"eth0"}, {"eth1"}}, near_to({"eth1"})).names, Names{"eth1"});
}

TEST(NetworkCards, OfSeveralPortsAreAllPorts) {
  EXPECT_EQ(chosen({{"mlx5_0:1"}, {"mlx5_0:2"}, {"mlx5_1:1"}, {"mlx5_10:1"}}, {"mlx5_0"}),
            (Names{"mlx5_0:1", "mlx5_0:2"}));
  EXPECT_EQ(chosen({{"mlx5_1:1"}, {"mlx5_10:1"}}, {"ib1", "mlx5_1"}), Names{"mlx5_1:1"}) << "of this very name";
}

TEST(NetworkCards, AreAllWhereNoneIsNear) {
  EXPECT_EQ(why_all({{"lo"}, {"eth0"}, {"eth1"}}, {"mlx5_9"}),
            "nearest to device 0 at 0000:3b:00.0 is mlx5_9, and UCX has eth0, eth1");
  EXPECT_EQ(why_all({{"lo"}}, {"eth0"}), "nearest to device 0 at 0000:3b:00.0 is eth0, and UCX has no card");
  EXPECT_EQ(why_all({{"eth0"}}, {}), "hwloc knows of no network card of this machine near device 0 at 0000:3b:00.0");
}

TEST(NetworkCards, AreAllWhereAllAreNear) {
  EXPECT_EQ(why_all({{"eth0", 1000}, {"mlx5_0:1"}}, {"eth0", "eth1", "mlx5_0"}),
            "it has none but those nearest to device 0 at 0000:3b:00.0, eth0, mlx5_0:1");
}

TEST(NetworkCards, AreTheUsersOwnWhereThereAreSome) {
  EXPECT_EQ(why_all({{"eth0"}, {"eth1"}}, {"eth1"}, "eth0"), "UCX_NET_DEVICES=eth0 goes before");
}

TEST(NetworkCards, AreAllWhereItIsNotKnownWhatIsNear) {
  const std::vector<NetworkDevice> devices{{"eth0"}, {"eth1"}};
  const CardChoice choice = choose_cards("all", devices, {true, where, {"eth1"}, "there is no hwloc"});
  EXPECT_EQ(choice.names, Names{});
  EXPECT_EQ(choice.why, "there is no hwloc");
}

TEST(NetworkCards, AreNotLoopback) {
  EXPECT_EQ(why_all({{"lo"}, {"eth0"}}, {"eth0"}), "it has none but those nearest to device 0 at 0000:3b:00.0, eth0")
      << "loopback is none to leave out";
  EXPECT_EQ(why_all({{"lo"}, {"eth0"}}, {"lo"}), "nearest to device 0 at 0000:3b:00.0 is lo, and UCX has eth0");
  EXPECT_EQ(chosen({{"lo"}, {"eth0"}, {"eth1"}}, {"eth0", "lo"}), Names{"eth0"});
}

TEST(NetworkCards, AreNeverSlowerThanOthers) {
  EXPECT_EQ(why_all({{"mlx5_0:1", 100000}, {"mlx5_1:1", 200000}}, {"mlx5_0"}),
            "mlx5_0:1 is nearest to device 0 at 0000:3b:00.0, and slower than others of mlx5_0:1, mlx5_1:1");
  EXPECT_EQ(chosen({{"eth0", 1000}, {"eth1", 10000}, {"eth2", 10000}}, {"eth0", "eth1"}), Names{"eth1"});
  EXPECT_EQ(chosen({{"eth0", 0}, {"eth1", 10000}}, {"eth0"}), Names{"eth0"})
      << "as fast as the others, for all we know";
  EXPECT_EQ(chosen({{"eth0", 1000}, {"eth1", 0}}, {"eth0"}), Names{"eth0"});
}

TEST(NetworkCards, AreNoInterfacesWhereThereIsRdma) {
  EXPECT_EQ(why_all({{"eth0", 200000}, {"mlx5_1:1", 100000}}, {"eth0"}),
            "eth0 is nearest to device 0 at 0000:3b:00.0, and slower than others of eth0, mlx5_1:1");
  EXPECT_EQ(chosen({{"ib0"}, {"mlx5_0:1"}, {"ib1"}, {"mlx5_1:1"}}, {"ib0", "mlx5_0"}), Names{"mlx5_0:1"});
}

class NetworkRates : public testing::Test {
protected:
  ~NetworkRates() override { std::filesystem::remove_all(folder_); }
  std::uint64_t rate_of(const std::string& device) { return megabits_of(device, folder_); }
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  const std::filesystem::path folder_ = new_folder("strata-rates");
};

TEST_F(NetworkRates, AreThoseOfThePortOrTheInterface) {
  write("net/eth0/speed", "25000\n");
  write("infiniband/mlx5_0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n");
  write("infiniband/mlx5_0/ports/2/rate", "400 Gb/sec (4X NDR)\n");
  EXPECT_EQ(rate_of("eth0"), 25000u);
  EXPECT_EQ(rate_of("mlx5_0:1"), 2500u);
  EXPECT_EQ(rate_of("mlx5_0:2"), 400000u);
}

TEST_F(NetworkRates, AreNotKnownWhereTheSystemSaysNone) {
  write("net/eth0/speed", "-1\n");
  write("net/eth1/speed", "4294967295\n");
  write("net/eth2/speed", "fast\n");
  write("infiniband/mlx5_0/ports/1/rate", "400");
  for (const char* device : {"eth0", "eth1", "eth2", "eth3", "mlx5_0:1", "mlx5_0:2"})
    EXPECT_EQ(rate_of(device), 0u) << device;
}

} // namespace
} // namespace strata::transport
