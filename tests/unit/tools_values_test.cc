// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf_values.h"

#include <gtest/gtest.h>

#include <cstring>

namespace strata::tools {
namespace {

constexpr std::size_t elements = 70000; // more than a period of the values

/// What three ranks give, put together by this test.
template <typename T, typename Combine>
std::vector<T> reduced(const KnownVectors& vectors, Combine combine) {
  std::vector<T> result(elements), next(elements);
  vectors.fill(result.data(), elements, 0);
  for (int rank = 1; rank < 3; ++rank) {
    vectors.fill(next.data(), elements, rank);
    for (std::size_t i = 0; i < elements; ++i)
      result[i] = combine(result[i], next[i]);
  }
  return result;
}

TEST(KnownVectors, FindNoDifferenceInWhatIsRight) {
  const KnownVectors sums(type::Element::float32, type::Operation::sum, 3);
  EXPECT_EQ(sums.differences(reduced<float>(sums, [](float a, float b) { return a + b; }).data(), elements), 0);
  const KnownVectors least(type::Element::int16, type::Operation::minimum, 3);
  const auto minimum = [](std::int16_t a, std::int16_t b) { return std::min(a, b); };
  EXPECT_EQ(least.differences(reduced<std::int16_t>(least, minimum).data(), elements), 0);
}

TEST(KnownVectors, CountEachElementWithAWrongBit) {
  const KnownVectors sums(type::Element::float32, type::Operation::sum, 3);
  std::vector<float> result = reduced<float>(sums, [](float a, float b) { return a + b; });
  for (const std::size_t place : {std::size_t{0}, std::size_t{65520}, elements - 1}) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &result[place], sizeof bits);
    bits ^= 1; // the last bit of its fraction
    std::memcpy(&result[place], &bits, sizeof bits);
  }
  EXPECT_EQ(sums.differences(result.data(), elements), 3);
}

TEST(KnownVectors, TellRanksApart) {
  const KnownVectors sums(type::Element::int32, type::Operation::sum, 3);
  std::vector<std::int32_t> mine(elements);
  sums.fill(mine.data(), elements, 1);
  EXPECT_GT(sums.differences(mine.data(), elements), 0);
}

} // namespace
} // namespace strata::tools
