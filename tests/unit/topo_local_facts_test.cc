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
  EXPECT_EQ(facts.usable_cores, usable_cores());
  EXPECT_EQ(facts.place.cache, -1);
  EXPECT_NE(facts.machine.find("usable core"), std::string::npos) << facts.machine;
}

} // namespace
} // namespace strata::topo
