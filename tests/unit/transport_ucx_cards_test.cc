// SPDX-License-Identifier: BSD-3-Clause
// The network cards that UCX is let have. Most machines have one; tests/cluster/cards_on_cluster_test runs these on a
// node with two.
#include "base/text.h"
#include "ucx_world.h"

#include <algorithm>
#include <cstdlib>

namespace strata::transport {
namespace {

class UcxCards : public testing::Test {
protected:
  std::unique_ptr<Transport> open(std::vector<std::string> near, bool wanted = true) {
    auto made = open_ucx(with_modules_of_this_build(), {wanted, "a device", std::move(near), ""});
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made ? std::move(*made) : nullptr;
  }
  /// All that UCX has but loopback.
  std::vector<std::string> cards() {
    const std::string note = open({"none-such"})->network_note();
    const std::string begin = "lets UCX choose among its network cards: nearest to a device is none-such, and UCX has ";
    EXPECT_EQ(note.substr(0, begin.size()), begin);
    std::vector<std::string> names;
    const std::string_view list = std::string_view(note).substr(std::min(begin.size(), note.size()));
    for (const std::string_view name : split(list, ','))
      if (trim(name) != "no card") names.emplace_back(trim(name));
    return names;
  }
};

TEST_F(UcxCards, AreNotSpokenOfUnlessAsked) { EXPECT_EQ(open({"none-such"}, false)->network_note(), ""); }

TEST_F(UcxCards, AreThoseThatTheUserNames) {
  ASSERT_EQ(setenv("UCX_NET_DEVICES", "lo", 1), 0);
  const auto transport = open({"none-such"});
  unsetenv("UCX_NET_DEVICES");
  ASSERT_NE(transport, nullptr);
  EXPECT_EQ(transport->network_note(), "lets UCX choose among its network cards: UCX_NET_DEVICES=lo goes before");
}

TEST_F(UcxCards, AreFewerThanUcxHas) {
  const auto has = cards();
  if (has.size() < 2) GTEST_SKIP() << "this machine has " << has.size() << " network cards that UCX can use";
  const std::string& one = has.back();
  const auto transport = open({one.substr(0, one.find(':'))});
  ASSERT_NE(transport, nullptr);
  const std::string begin = "sends through " + one + ", nearest to a device, of ";
  EXPECT_EQ(transport->network_note().substr(0, begin.size()), begin);
  // The address has a part for each device.
  EXPECT_LT(transport->address().size(), open({"none-such"})->address().size());
}

} // namespace
} // namespace strata::transport
