// SPDX-License-Identifier: BSD-3-Clause
#include "tune/model.h"

#include <gtest/gtest.h>

namespace strata::tune {
namespace {

const LinkParameters& of(const Parameters& parameters, topo::LinkKind kind) {
  return parameters.links[static_cast<std::size_t>(kind)];
}

TEST(MeasuredRates, TakeThePlaceOfTheDefaults) {
  const Parameters before = default_parameters();
  Parameters after = before;
  take_rates(after, {40e9, 20e9, 30e9, 25e9}, {8e9, 4e9, 6e9, 5e9});
  const LinkParameters &memory = of(after, topo::LinkKind::shared_memory),
                       &usual = of(before, topo::LinkKind::shared_memory);
  EXPECT_DOUBLE_EQ(memory.per_byte, 1 / 20e9) << "of a core while all are busy";
  EXPECT_DOUBLE_EQ(memory.read_per_byte / memory.per_byte, usual.read_per_byte / usual.per_byte);
  EXPECT_DOUBLE_EQ(memory.reduce_per_byte, 1 / 50e9) << "two operands are read";
  EXPECT_DOUBLE_EQ(of(after, topo::LinkKind::network).read_per_byte, 1 / 4e9);
  EXPECT_DOUBLE_EQ(of(after, topo::LinkKind::network).reduce_per_byte, 1 / 10e9);
  EXPECT_DOUBLE_EQ(of(after, topo::LinkKind::network).per_byte, of(before, topo::LinkKind::network).per_byte);
}

TEST(MeasuredRates, OfOneCoreAloneCountWhereThereAreNoOthers) {
  Parameters parameters = default_parameters();
  take_rates(parameters, {40e9, 0, 0, 0}, {});
  EXPECT_DOUBLE_EQ(of(parameters, topo::LinkKind::shared_cache).per_byte, 1 / 40e9);
}

TEST(MeasuredRates, ThatAreMissingLeaveTheDefaults) {
  const Parameters before = default_parameters();
  Parameters after = before;
  take_rates(after, {}, {});
  for (std::size_t kind = 0; kind < before.links.size(); ++kind) {
    EXPECT_EQ(after.links[kind].per_byte, before.links[kind].per_byte);
    EXPECT_EQ(after.links[kind].read_per_byte, before.links[kind].read_per_byte);
    EXPECT_EQ(after.links[kind].reduce_per_byte, before.links[kind].reduce_per_byte);
  }
}

} // namespace
} // namespace strata::tune
