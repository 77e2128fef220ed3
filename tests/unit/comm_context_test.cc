// SPDX-License-Identifier: BSD-3-Clause
// Calls of contexts whose ranks are threads, against the plain loops.
#include "context_calls.h"
#include "thread_bootstrap.h"

#include <gtest/gtest.h>

#include <random>

namespace strata::comm {
namespace {

using type::Element;
using type::Operation;

unsigned new_seed() { return std::random_device{}(); }

Element random_element(std::mt19937& random) { return static_cast<Element>(random() % type::element_kinds); }

/// Runs these calls one after the other in one context of so many ranks.
void expect_right(int ranks, const Options& options, const std::vector<TestCall>& calls) {
  SCOPED_TRACE(fmt::format("{} ranks, {}", ranks, agreed_text(options)));
  ThreadJob job(ranks, options);
  Faults faults(ranks);
  job.run_in_context([&](Context& context) {
    unsigned salt = 0;
    for (const TestCall& call : calls)
      faults.add(context, fault_of(context, call, ++salt));
  });
  EXPECT_EQ(faults.text(), "");
  for (const std::string& failure : job.failures)
    EXPECT_EQ(failure, "");
}

std::vector<TestCall> sizes(std::initializer_list<std::int64_t> counts) {
  std::vector<TestCall> calls;
  for (std::int64_t count : counts)
    for (Place place : {Place::apart, Place::same})
      calls.push_back({count, Element::float32, Operation::sum, place});
  return calls;
}

TEST(Context, ReducesVectorsOfAnySizeForOneToEightRanks) {
  for (int ranks : {1, 2, 3, 4, 5, 8})
    expect_right(ranks, ThreadJob::options_for_tests(), sizes({0, 1, 2, 3, 7, 63, 64, 1000, 4097, 100003}));
}

// On the latency path: in one line of a slot, in two, and in the ring, again and again past its end.
TEST(Context, ReducesPayloadsOfMixedSizesOnTheLatencyPath) {
  Options options = ThreadJob::options_for_tests();
  options.algorithm = "board";
  const unsigned seed = new_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  constexpr std::int64_t counts[] = {1, 14, 30, 255, 256, 257, 300, 384, 511, 512, 513, 1000, 3000, 4000};
  std::vector<TestCall> calls;
  for (int call = 0; call < 400; ++call)
    calls.push_back({counts[random() % std::size(counts)], Element::float32, Operation::sum,
                     random() % 2 == 0 ? Place::apart : Place::same});
  for (const int ranks : {2, 3, 5})
    expect_right(ranks, options, calls);
}

// On the latency path vectors of one exchange and longer ones follow each other in any order: in parts, of one piece to
// many, and in whole pieces where so many ranks share the ring that those of parts would be too short.
TEST(Context, ReducesVectorsOfAnyLengthInTurnOnTheLatencyPath) {
  Options options = ThreadJob::options_for_tests();
  options.algorithm = "board";
  const unsigned seed = new_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  std::vector<TestCall> calls = {{100'003}}; // a long one, whatever the others are
  for (int call = 0; call < 60; ++call) {
    const auto most = std::int64_t{1} << random() % 20;
    calls.push_back({static_cast<std::int64_t>(random()) % most + 1, random_element(random),
                     random() % 2 == 0 ? Operation::sum : Operation::maximum,
                     random() % 2 == 0 ? Place::apart : Place::same});
  }
  for (const int ranks : {2, 3, 4, 7})
    expect_right(ranks, options, calls);
  calls.resize(10);
  expect_right(20, options, calls);
}

TEST(Context, ReducesAllTypesAndOperationsOnSlotsAndInSlices) {
  std::vector<TestCall> calls;
  vectors::for_each_kind([&](Element element, Operation operation) {
    calls.push_back({7, element, operation, Place::apart});
    calls.push_back({13001, element, operation, Place::same});
  });
  expect_right(3, ThreadJob::options_for_tests(), calls);
}

TEST(Context, FollowsAForcedAlgorithm) {
  for (const char* algorithm :
       {"board", "direct", "ring", "recursive_halving", "recursive_doubling", "binomial", "double_binary_tree", "bine",
        "swing", "torus", "torus3d", "recursive_multiplying", "recursive_multiplying_8", "circulant", "direct.exchange",
        "binomial.leader", "bine.exchange", "bine.leader", "double_binary_tree.leader"}) {
    Options options = ThreadJob::options_for_tests();
    options.algorithm = algorithm;
    options.slice = 4096;
    ThreadJob job(5, options);
    Faults faults(5);
    job.run_in_context([&](Context& context) {
      for (std::int64_t count : {1, 63, 1000, 3000, 16384, 50001}) {
        faults.add(context, fault_of(context, {count}));
        faults.add(context, fault_of(context, {count, Element::uint8, Operation::maximum, Place::same}));
      }
      for (const auto& [name, tally] : context.statistics().by_algorithm)
        if (!name.starts_with(algorithm)) faults.add(context, fmt::format("{} ran instead of {}\n", name, algorithm));
    });
    EXPECT_EQ(faults.text(), "");
  }
}

TEST(Context, FollowsForcedSlicesAndWindows) {
  for (std::uint64_t slice : {4096u, 10000u, 262144u})
    for (std::uint64_t window : {1u, 3u, 8u}) {
      Options options = ThreadJob::options_for_tests();
      options.algorithm = window % 2 == 0 ? "ring" : "direct";
      options.slice = slice;
      options.window = window;
      expect_right(3, options, sizes({900, 100003}));
    }
}

TEST(Context, RunsHierarchiesSetByHand) {
  const std::pair<int, const char*> jobs[] = {
      {4, "2x2"},   {4, "0,1,2|3"}, {4, "0,3|1,2"}, {5, "0|1,3|2,4"}, {6, "0,1|2,3,4|5 / 0-4|5"},
      {8, "2x2x2"}, {6, "3x2"},     {8, "4x2"}};
  for (const auto& [ranks, levels] : jobs)
    for (const char* algorithm : {"", "direct", "direct.leader", "ring"}) {
      Options options = ThreadJob::options_for_tests();
      options.levels = levels;
      options.algorithm = algorithm;
      options.slice = 8192;
      expect_right(ranks, options, sizes({1, 7, 4097, 30011}));
    }
}

/// Where a sum of random numbers is not the same to a bit on all ranks, or not right.
void expect_same_bits(const std::string& algorithm, std::size_t elements) {
  Options options = ThreadJob::options_for_tests();
  options.algorithm = algorithm;
  const unsigned seed = new_seed();
  SCOPED_TRACE(fmt::format("{}, {} elements, seed {}", algorithm, elements, seed));
  ThreadJob job(6, options);
  std::vector<std::vector<float>> inputs(6, std::vector<float>(elements)), outputs = inputs;
  std::vector<double> sums(elements, 0), magnitudes(elements, 0);
  std::mt19937 random(seed);
  for (auto& input : inputs)
    for (std::size_t i = 0; i < elements; ++i) {
      input[i] = std::uniform_real_distribution<float>(-1e6f, 1e6f)(random);
      sums[i] += input[i];
      magnitudes[i] += std::abs(input[i]);
    }
  job.run_in_context([&](Context& context) {
    const auto rank = static_cast<std::size_t>(context.rank());
    context.all_reduce({inputs[rank].data(), outputs[rank].data(), static_cast<std::int64_t>(elements),
                        Element::float32, Operation::sum});
  });
  for (const auto& output : outputs)
    EXPECT_EQ(std::memcmp(output.data(), outputs[0].data(), 4 * elements), 0);
  for (std::size_t i = 0; i < elements; ++i)
    ASSERT_NEAR(outputs[0][i], sums[i], 6e-7 * magnitudes[i]);
}

TEST(Context, GivesTheSameBitsOnAllRanks) {
  for (const char* algorithm :
       {"board", "direct", "ring", "recursive_halving", "recursive_doubling", "binomial", "double_binary_tree", "bine",
        "bine.exchange", "swing", "torus.exchange", "recursive_multiplying", "circulant"})
    for (const std::size_t elements : {2500, 150'001})
      expect_same_bits(algorithm, elements);
}

TEST(Context, RunsManyCallsOfMixedSizesTypesAndPlacesInARow) {
  const unsigned seed = new_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  std::vector<TestCall> calls;
  for (int i = 0; i < 250; ++i) {
    const auto most = std::int64_t{1} << (random() % 15);
    calls.push_back({static_cast<std::int64_t>(random()) % most, random_element(random),
                     random() % 2 == 0 ? Operation::sum : Operation::minimum,
                     random() % 2 == 0 ? Place::apart : Place::same});
  }
  expect_right(4, ThreadJob::options_for_tests(), calls);
}

} // namespace
} // namespace strata::comm
