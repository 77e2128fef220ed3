// SPDX-License-Identifier: BSD-3-Clause
// What measure_memory measures, and of what: never how fast this machine is.
#include "comm/memory_rates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <map>

namespace strata::comm {
namespace {

/// Sums that add nothing. Those of long vectors take a time of the thread that is known; those of short ones take none.
struct SlowSums {
  static constexpr std::size_t most_cached = std::size_t{512} << 10; ///< bytes of a vector
  static constexpr double seconds_beyond = 20e-3;

  static inline std::map<std::size_t, int> calls; ///< by bytes of each vector
  static inline std::string fault;                ///< of a call that was not a sum of two vectors into a third

  static double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  static void sum(void* out, const void* const* in, std::size_t inputs, std::size_t count, kernel::Store /*store*/,
                  const kernel::Beside* /*beside*/) {
    const std::size_t bytes = count * sizeof(float);
    ++calls[bytes];
    if (inputs != 2)
      fault = "it has not two operands";
    else if (in[0] == in[1] || in[0] == out || in[1] == out)
      fault = "its vectors are not three";
    if (bytes <= most_cached) return;
    for (const double end = thread_seconds() + seconds_beyond; thread_seconds() < end;) {
    }
  }

  static tune::Probe::MemorySample measured(std::uint64_t cache_share) {
    calls.clear();
    fault.clear();
    kernel::Kernels kernels{"none", kernel::scalar().copy, {}};
    kernels.reduce[static_cast<std::size_t>(type::Element::float32)][static_cast<std::size_t>(type::Operation::sum)] =
        &sum;
    return measure_memory(kernels, cache_share);
  }
  static std::size_t shortest() { return calls.empty() ? 0 : calls.begin()->first; }
  static std::size_t longest() { return calls.empty() ? 0 : calls.rbegin()->first; }
};

TEST(MeasuredMemory, IsSummedInBuffersThatACacheKeepsAndInSuchThatNoneDoes) {
  for (const std::uint64_t share : {0ULL, 5'000'100ULL, 1ULL << 40}) {
    const auto sample = SlowSums::measured(share);
    EXPECT_EQ(SlowSums::fault, "");
    EXPECT_EQ(SlowSums::calls.size(), 2U) << "sizes of buffers, for a cache of " << share << " bytes";
    EXPECT_LE(3 * SlowSums::shortest(), std::size_t{256} << 10) << "all three are to fit into a core's own cache";
    EXPECT_GT(SlowSums::longest(), SlowSums::most_cached);
    EXPECT_LE(SlowSums::longest(), std::size_t{64} << 20) << "all ranks of a node take as much at once";
    EXPECT_EQ(sample.cache_share, static_cast<double>(share));
  }
}

TEST(MeasuredMemory, IsInBuffersThatTheShareOfTheCacheIsTooSmallFor) {
  for (const std::uint64_t share : {3'000'000ULL, 5'000'100ULL, 12'000'000ULL}) {
    (void)SlowSums::measured(share);
    EXPECT_GT(2 * SlowSums::longest(), share * 3 / 2) << "the two operands, or what a copy reads and writes";
  }
}

// However fast the machine is: at most one sum of long vectors in the time that each of them takes.
TEST(MeasuredMemory, HasTheRatesOfEachKindOfBufferInItsPlace) {
  const auto sample = SlowSums::measured(0);
  const double most_beyond = static_cast<double>(SlowSums::longest()) / SlowSums::seconds_beyond;
  EXPECT_GT(sample.memory.reduce, 0);
  EXPECT_LE(sample.memory.reduce, 1.001 * most_beyond) << "bytes of one operand by a second of the thread";
  EXPECT_GT(sample.cache.reduce, 10 * most_beyond) << "these sums do nothing";
  EXPECT_GT(sample.memory.copy, sample.memory.reduce) << "a copy does not wait";
  EXPECT_GT(sample.cache.copy, 0);
  const double spun = SlowSums::seconds_beyond * SlowSums::calls[SlowSums::longest()];
  EXPECT_GE(sample.elapsed, 0.9 * spun) << "it is what the probe pays";
}

TEST(MeasuredMemory, HasRatesOfRealKernels) {
  const auto sample = measure_memory(kernel::scalar(), 0);
  for (const double rate : {sample.cache.copy, sample.cache.reduce, sample.memory.copy, sample.memory.reduce}) {
    EXPECT_GT(rate, 0);
    EXPECT_TRUE(std::isfinite(rate)) << rate;
  }
  EXPECT_GT(sample.elapsed, 0);
  EXPECT_TRUE(std::isfinite(sample.elapsed)) << sample.elapsed;
  EXPECT_EQ(sample.cache_share, 0);
}

} // namespace
} // namespace strata::comm
