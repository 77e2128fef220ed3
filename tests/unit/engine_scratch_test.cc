// SPDX-License-Identifier: BSD-3-Clause
#include "engine/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace strata::engine {
namespace {

TEST(Scratch, IsZeroedAndAlignedToALine) {
  const auto block = Scratch::allocate(nullptr, 1000);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->size(), 1000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->data()) % 64, 0U);
  EXPECT_TRUE(std::all_of(block->data(), block->data() + 1000, [](std::byte byte) { return byte == std::byte{}; }));
}

TEST(Scratch, IsRefusedBeyondTheBudgetWithTheOptionNamed) {
  ScratchBudget budget(1000);
  const auto first = Scratch::allocate(&budget, 600);
  ASSERT_TRUE(first);
  const auto second = Scratch::allocate(&budget, 600);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "no 600 bytes of scratch left of 1000 (STRATA_SCRATCH), 600 are in use");
  EXPECT_TRUE(Scratch::allocate(&budget, 400));
  EXPECT_FALSE(Scratch::allocate(&budget, SIZE_MAX));
}

TEST(Scratch, GoesBackToTheBudgetOnceHoweverOftenItMoves) {
  ScratchBudget budget(1000);
  {
    Scratch kept;
    {
      auto block = Scratch::allocate(&budget, 600);
      ASSERT_TRUE(block);
      kept = std::move(*block);
    }
    EXPECT_EQ(budget.taken(), 600U);
    const Scratch last(std::move(kept));
    EXPECT_EQ(budget.taken(), 600U);
  }
  EXPECT_EQ(budget.taken(), 0U);
}

} // namespace
} // namespace strata::engine
