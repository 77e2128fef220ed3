// SPDX-License-Identifier: BSD-3-Clause
#include "tune/message_times.h"

#include <gtest/gtest.h>

namespace strata::tune {
namespace {

constexpr SecondsBySize all{1e-6, 2e-6, 4e-6, 10e-6, 74e-6};

TEST(MessageTimes, AreThoseThatWereMeasured) {
  for (std::size_t i = 0; i < message_sizes.size(); ++i)
    EXPECT_DOUBLE_EQ(seconds_of(all, static_cast<double>(message_sizes[i])), all[i]);
}

TEST(MessageTimes, LieOnALineBetweenTwoThatWereMeasured) {
  EXPECT_DOUBLE_EQ(seconds_of(all, (512 + 4096) / 2.0), 3e-6);
  constexpr SecondsBySize without{1e-6, 0, 4e-6, 0, 0};
  EXPECT_DOUBLE_EQ(seconds_of(without, (8 + 4096) / 2.0), 2.5e-6);
}

TEST(MessageTimes, OfShorterOnesAreThoseOfTheShortest) {
  EXPECT_DOUBLE_EQ(seconds_of(all, 1), 1e-6);
  EXPECT_DOUBLE_EQ(seconds_of({0, 0, 4e-6, 0, 0}, 8), 4e-6);
}

TEST(MessageTimes, OfLongerOnesGoOnAsTheLastTwo) {
  const double per_byte = 64e-6 / (262144 - 32768);
  EXPECT_DOUBLE_EQ(seconds_per_byte(all), per_byte);
  EXPECT_NEAR(seconds_of(all, 1 << 20), 74e-6 + per_byte * ((1 << 20) - 262144), 1e-12);
  EXPECT_DOUBLE_EQ(seconds_of({0, 0, 4e-6, 0, 0}, 8192), 8e-6);
}

TEST(MessageTimes, DoNotFallBelowWhatWasMeasured) {
  constexpr SecondsBySize noisy{9e-6, 8e-6, 0, 0, 0};
  EXPECT_DOUBLE_EQ(seconds_of(noisy, 1 << 20), 8e-6);
  EXPECT_EQ(seconds_per_byte(noisy), 0);
}

TEST(MessageTimes, AreNotKnownWithoutAMeasurement) {
  EXPECT_EQ(seconds_of({}, 8), 0);
  EXPECT_EQ(seconds_per_byte({}), 0);
  EXPECT_EQ(seconds_per_byte({1e-6, 0, 0, 0, 0}), 0);
}

} // namespace
} // namespace strata::tune
