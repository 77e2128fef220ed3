// SPDX-License-Identifier: BSD-3-Clause
#include "base/host.h"
#include "topo/local_facts.h"

#include <gtest/gtest.h>

namespace strata::topo {
namespace {

TEST(LocalFacts, WithoutTheModuleTellWhyAndHowManyCores) {
  Options options;
  options.module_path = "/nonexistent";
  const auto facts = local_facts(options);
  EXPECT_EQ(facts.trouble, "module hwloc.so is not in /nonexistent");
  EXPECT_EQ(facts.cores.mask, core_share().mask);
  EXPECT_EQ(facts.cores.threads, allowed_cpus().size());
  EXPECT_EQ(facts.place.cache, -1);
  EXPECT_NE(facts.machine.find("usable core"), std::string::npos) << facts.machine;
}

TEST(InnermostSwitch, IsTheLastBeforeTheNode) {
  EXPECT_EQ(innermost_switch({"s0.s4.s8.n7", "switch.switch.switch.node"}), "s8");
  EXPECT_EQ(innermost_switch({"leaf-1.n7", "switch.node"}), "leaf-1");
  EXPECT_EQ(innermost_switch({"leaf.n7.cluster.example", "switch.node"}), "leaf") << "a node's name may have dots";
}

TEST(InnermostSwitch, IsNotThereWhereTheSchedulerNamesNone) {
  EXPECT_EQ(innermost_switch({"", ""}), "");
  EXPECT_EQ(innermost_switch({"n7", "node"}), "");
  EXPECT_EQ(innermost_switch({"s0.n7", ""}), "");
  EXPECT_EQ(innermost_switch({"b1.n7", "block.node"}), "") << "a block is no switch";
}

TEST(InnermostSwitch, IsNotTakenWhenItIsNoName) {
  EXPECT_EQ(innermost_switch({"n7", "switch.node"}), "") << "a part is missing";
  EXPECT_EQ(innermost_switch({".n7", "switch.node"}), "");
  EXPECT_EQ(innermost_switch({"s\x1b[31m.n7", "switch.node"}), "");
  EXPECT_EQ(innermost_switch({std::string(64, 's') + ".n7", "switch.node"}), std::string(64, 's'));
  EXPECT_EQ(innermost_switch({std::string(65, 's') + ".n7", "switch.node"}), "");
}

} // namespace
} // namespace strata::topo
