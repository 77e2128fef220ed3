// SPDX-License-Identifier: BSD-3-Clause
// The kernels for GPUs, each thread of a launch run after the other on the host, against the plain loops: bit for bit.
// Which thread does what, heads and tails, packs, the operations and conversions are those that nvcc compiles; what
// nvcc makes of them, only a GPU can show.
#include "kernel/cuda/reduce.h"
#include "kernel/cuda/rows.h"
#include "kernel/kernel.h"
#include "samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace strata::kernel {
namespace {

constexpr std::uint32_t launch_seed = 20260607;
constexpr std::size_t guards = 64; ///< bytes before and behind an output
constexpr std::byte guard{0xa5};

struct Kernel {
  Element element;
  Operation operation;
  void (*thread)(const cuda::Reduction& reduction, cuda::Thread self);
};

std::vector<Kernel> all_kernels() {
  using namespace elements;
  std::vector<Kernel> kernels;
#define STRATA_TEST_ROW(element, Format, operation, Op)                                                                \
  kernels.push_back({Element::element, Operation::operation, cuda::reduce_part<Format, Op>});
  STRATA_CUDA_KERNELS(STRATA_TEST_ROW)
#undef STRATA_TEST_ROW
  return kernels;
}

/// Vectors that lie `offset` bytes behind a boundary of 16, each between guards.
class Vectors {
public:
  explicit Vectors(std::size_t bytes) : bytes_(bytes) {}

  std::byte* add(std::size_t offset) {
    const std::size_t size = bytes_ + 2 * guards + offset;
    storage_.emplace_back(static_cast<std::byte*>(::operator new (size, std::align_val_t{64})));
    std::fill_n(storage_.back().get(), size, guard);
    return storage_.back().get() + guards + offset;
  }
  bool guards_hold(const std::byte* vector) const {
    const auto untouched = [](std::byte b) { return b == guard; };
    return std::all_of(vector - guards, vector, untouched) &&
           std::all_of(vector + bytes_, vector + bytes_ + guards, untouched);
  }

private:
  struct Delete {
    void operator()(std::byte* storage) const { ::operator delete (storage, std::align_val_t{64}); }
  };
  std::size_t bytes_;
  std::vector<std::unique_ptr<std::byte, Delete>> storage_;
};

struct Launch {
  std::size_t count;
  std::size_t inputs;
  std::uint64_t threads;
  bool alike;    ///< all vectors at the same place within 16 bytes
  bool in_place; ///< into the last operand
  Sample sample;
};

std::string text_of(const Kernel& kernel, const Launch& launch) {
  return std::string(name_of(kernel.operation)) + " of " + std::to_string(launch.inputs) + " vectors of " +
         std::to_string(launch.count) + " " + std::string(name_of(kernel.element)) + " by " +
         std::to_string(launch.threads) + " threads" + (launch.alike ? ", alike" : ", not alike") +
         (launch.in_place ? ", in place" : "") + ", seed " + std::to_string(launch_seed);
}

testing::AssertionResult agrees(const Kernel& kernel, const Launch& launch, std::mt19937_64& random) {
  const std::size_t size = bytes_of(kernel.element);
  const std::size_t bytes = launch.count * size;
  const std::size_t common = random() % (cuda::pack_bytes / size) * size;
  const auto offset = [&] { return launch.alike ? common : random() % (cuda::pack_bytes / size) * size; };
  Vectors vectors(bytes);
  cuda::Reduction reduction{};
  reduction.count = launch.count;
  reduction.inputs = static_cast<std::uint32_t>(launch.inputs);
  std::vector<std::byte> expected(bytes);
  std::byte* last = nullptr;
  for (std::size_t input = 0; input < launch.inputs; ++input) {
    const auto values = draw_many(kernel.element, launch.sample, launch.count, random);
    last = vectors.add(offset());
    std::copy(values.begin(), values.end(), last);
    reduction.in[input] = last;
  }
  std::byte* const out = launch.in_place ? last : vectors.add(offset());
  reduction.out = out;
  scalar().find(kernel.element, kernel.operation)(expected.data(), reduction.in, launch.inputs, launch.count,
                                                  Store::cached, nullptr);
  for (std::uint64_t thread = 0; thread < launch.threads; ++thread)
    kernel.thread(reduction, {thread, launch.threads});
  const auto differ = std::mismatch(expected.begin(), expected.end(), out).first;
  if (differ != expected.end())
    return testing::AssertionFailure() << text_of(kernel, launch) << ": element "
                                       << static_cast<std::size_t>(differ - expected.begin()) / size << " differs";
  if (!vectors.guards_hold(out)) return testing::AssertionFailure() << text_of(kernel, launch) << ": wrote outside";
  return testing::AssertionSuccess();
}

TEST(CudaKernels, ReduceToTheBitsOfThePlainLoops) {
  std::mt19937_64 random(launch_seed);
  for (const Kernel& kernel : all_kernels())
    for (const Sample sample : samples)
      for (const bool alike : {true, false})
        for (const std::size_t inputs : {std::size_t{2}, std::size_t{3}, cuda::most_inputs})
          ASSERT_TRUE(agrees(kernel, {1000 + random() % 100, inputs, 64, alike, false, sample}, random));
}

TEST(CudaKernels, CoverEveryCountOfElementsWithAnyNumberOfThreads) {
  std::mt19937_64 random(launch_seed);
  for (const Kernel& kernel : all_kernels()) {
    if (kernel.operation != Operation::maximum) continue; // which thread does what is the same for all operations
    for (std::size_t count = 0; count < 200; ++count)
      for (const unsigned threads : {1u, 2u, 7u, 256u})
        for (const bool alike : {true, false})
          ASSERT_TRUE(agrees(kernel, {count, 2, threads, alike, false, Sample::any_bits}, random));
  }
}

TEST(CudaKernels, ReduceIntoOneOfTheirOperands) {
  std::mt19937_64 random(launch_seed);
  for (const Kernel& kernel : all_kernels())
    for (const bool alike : {true, false})
      ASSERT_TRUE(agrees(kernel, {777, 3, 32, alike, true, Sample::rare_specials}, random));
}

TEST(CudaKernels, ConvertEveryPairOfHalvesAsThePlainLoopsDo) {
  // Every half against a few partners, among them zeros, subnormals, infinity and NaNs.
  const std::uint16_t partners[] = {0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0x7bff, 0x7c00, 0x7d55, 0xfe01};
  std::vector<std::uint16_t> all(0x10000), other(0x10000), out(0x10000), expected(0x10000);
  for (std::size_t half = 0; half < all.size(); ++half)
    all[half] = static_cast<std::uint16_t>(half);
  for (const Kernel& kernel : all_kernels()) {
    if (kernel.element != Element::float16 && kernel.element != Element::bfloat16) continue;
    for (const std::uint16_t partner : partners) {
      std::fill(other.begin(), other.end(), partner);
      cuda::Reduction reduction{out.data(), {all.data(), other.data()}, all.size(), 2};
      scalar().find(kernel.element, kernel.operation)(expected.data(), reduction.in, 2, all.size(), Store::cached,
                                                      nullptr);
      for (std::uint64_t thread = 0; thread < 16; ++thread)
        kernel.thread(reduction, {thread, 16});
      ASSERT_EQ(out, expected) << name_of(kernel.element) << " " << name_of(kernel.operation) << " with " << partner;
    }
  }
}

} // namespace
} // namespace strata::kernel
