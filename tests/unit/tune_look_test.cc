// SPDX-License-Identifier: BSD-3-Clause
#include "tune/look.h"

#include <gtest/gtest.h>

namespace strata::tune {
namespace {

constexpr std::size_t few_bytes = 8, many_bytes = std::size_t{1} << 20;

/// Of calls of which the ones that begin in a spell, `begin` seconds after the look and `length` long, take `longer`.
double seen(Look look, double seconds, double begin, double length, double longer) {
  double clock = 0;
  for (std::uint32_t call = 1;; ++call) {
    const bool is_in_spell = clock >= begin && clock < begin + length;
    const double spent = is_in_spell ? longer : seconds;
    clock += spent;
    if (!look.add(spent)) continue;
    EXPECT_EQ(call, look.calls());
    return look.seconds();
  }
}

TEST(Look, TellsTheMeanOfItsCalls) {
  Look look(1e-7, few_bytes, Noise::little);
  EXPECT_EQ(look.calls(), 16u);
  for (int call = 1; call < 16; ++call)
    EXPECT_FALSE(look.add(call * 1e-7));
  EXPECT_TRUE(look.add(16e-7));
  EXPECT_DOUBLE_EQ(look.seconds(), 8.5e-7);
}

TEST(Look, HasFewLongCalls) {
  EXPECT_EQ(Look(long_call_seconds, many_bytes, Noise::network).calls(), 4u);
  EXPECT_EQ(Look(1, many_bytes, Noise::network).calls(), 4u);
  EXPECT_EQ(Look(1e-4, many_bytes, Noise::little).calls(), 4u);
}

TEST(Look, OutlastsASpellBetweenNodesAndWhereRanksShareCores) {
  constexpr double usual = 40e-6, in_a_spell = 100e-6;
  for (const Noise noise : {Noise::network, Noise::shared_cores}) {
    const Look look(usual, few_bytes, noise);
    EXPECT_NEAR(look.calls() * usual, 50e-3, 1e-3);
    for (const double begin : {0.0, 3e-3, 10e-3, 35e-3})
      EXPECT_NEAR(seen(look, usual, begin, 18e-3, in_a_spell), usual, usual / 100) << begin;
    EXPECT_NEAR(seen(look, usual, 0, 1, in_a_spell), in_a_spell, in_a_spell / 100) << "no spell any more";
  }
}

TEST(Look, HasSoManyCallsAtMost) {
  for (const double seconds : {0.0, 1e-12, 1e-9, 1e-6, 1e-3})
    for (const std::size_t bytes : {few_bytes, many_bytes}) {
      const std::uint32_t calls = Look(seconds, bytes, Noise::network).calls();
      EXPECT_GE(calls, 5u * 4) << seconds;
      EXPECT_LE(calls, 5u * 4096) << seconds;
    }
}

} // namespace
} // namespace strata::tune
