// SPDX-License-Identifier: BSD-3-Clause
// The bits of results: a device takes the operands of a reduction in the host's order, and rounds as often. The values
// of other tests are exact in any order; here sums are rounded, and minima are zeros of both signs, of which the last
// one counts.
#include "device_world.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace strata::engine {
namespace {

/// Of mixed magnitude, small enough for sums in float16; every fourth is a zero.
double number_that_rounds(std::mt19937& random) {
  const auto draw = static_cast<std::uint32_t>(random());
  const double sign = draw % 2 == 0 ? 1 : -1;
  if (draw / 2 % 4 == 0) return std::copysign(0.0, sign);
  const int exponent = static_cast<int>(draw / 8 % 17) - 8;
  return sign * std::ldexp(1 + std::generate_canonical<double, 53>(random), exponent);
}

vectors::Bytes contribution_that_rounds(const Job& job, std::size_t rank) {
  std::mt19937 random(job.salt * 64 + static_cast<unsigned>(rank));
  const std::size_t element_bytes = type::bytes_of(job.element);
  vectors::Bytes bytes(static_cast<std::size_t>(job.count) * element_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += element_bytes)
    vectors::put(bytes.data() + at, job.element, number_that_rounds(random));
  return bytes;
}

/// How results differ from rank 0's when all ranks are on the host: those of the other ranks, and those of all ranks
/// when all of them, or every second one, are on their devices. Empty: not in a bit.
std::string differences(DeviceWorld& world, const Job& job) {
  world.contribution_ = contribution_that_rounds;
  vectors::Bytes wanted;
  std::string text;
  for (const unsigned on_device : {0U, ~0U, 0x55555555U}) {
    const auto results = world.results_of(job, on_device);
    if (!results) return results.error().message;
    if (on_device == 0) wanted = results->front();
    for (std::size_t rank = 0; rank < results->size(); ++rank)
      if (const std::string one = vectors::difference(wanted, (*results)[rank].data(), type::bytes_of(job.element));
          !one.empty())
        text += fmt::format("{} of {}, devices {:b}, rank {}: {}\n", type::name_of(job.operation),
                            type::name_of(job.element), on_device, rank, one);
  }
  return text;
}

constexpr Element rounded_types[] = {Element::float16, Element::bfloat16, Element::float32, Element::float64};

TEST(DeviceBits, AreTheHostsInEveryComposition) {
  std::mt19937 random(std::random_device{}());
  bool by_flags = false;
  for (const Machine& machine : {factors({5}), factors({2, 3}), nodes({4, 1, 3})})
    for (const hier::Composition& composition : some_compositions(machine.size(), 4, random)) {
      const unsigned seed = std::random_device{}();
      Setting setting{hierarchy(machine, by_node(machine)), composition,
                      seed % 2 == 0 ? Carriage::both : Carriage::memory};
      setting.window = 1 + seed % 4;
      Devices kind;
      kind.of_their_own = std::exchange(by_flags, !by_flags);
      SCOPED_TRACE(fmt::format("seed {}; {}{}", seed, setting.describe(), kind.of_their_own ? ", by flags" : ""));
      DeviceWorld world(setting, seed, kind);
      ASSERT_EQ(world.failure(), "");
      for (const Element element : rounded_types)
        for (const Operation operation : {Operation::sum, Operation::minimum})
          ASSERT_EQ(differences(world, {element, operation, 1500, vectors::Buffers::Place::same, seed % 1000}), "");
    }
}

// ---- mutations: what if a device did it in another way? ------------------------------------------------------------

/// By a direct exchange of four ranks, whose reductions have four operands.
template <typename Driver>
std::string differences_with(Element element, Operation operation) {
  Setting setting;
  setting.hierarchy = hierarchy(factors({4}));
  setting.composition = *hier::composition_from("direct", setting.hierarchy);
  Devices kind;
  kind.make_driver = Devices::made<Driver>;
  DeviceWorld world(setting, 1, kind);
  return differences(world, {element, operation, 1500, vectors::Buffers::Place::same, 1});
}

struct ReversingStream : device::PassingStream {
  using PassingStream::PassingStream;
  Status reduce(Element element, Operation operation, void* to, std::span<const void* const> from,
                std::size_t count) override {
    const std::vector<const void*> reversed(from.rbegin(), from.rend());
    return real->reduce(element, operation, to, reversed, count);
  }
};

TEST(DeviceBits, AreSeenToDifferWhenADeviceTakesTheOperandsInAnotherOrder) {
  EXPECT_EQ(differences_with<device::SharingDriver>(Element::float32, Operation::sum), "");
  EXPECT_NE(differences_with<device::DriverWithStreams<ReversingStream>>(Element::float32, Operation::sum), "");
  EXPECT_NE(differences_with<device::DriverWithStreams<ReversingStream>>(Element::float64, Operation::sum), "");
  for (const Element element : rounded_types)
    EXPECT_NE(differences_with<device::DriverWithStreams<ReversingStream>>(element, Operation::minimum), "")
        << type::name_of(element);
}

/// Stores what it has after each operand.
struct NarrowingStream : device::PassingStream {
  using PassingStream::PassingStream;
  Status reduce(Element element, Operation operation, void* to, std::span<const void* const> from,
                std::size_t count) override {
    if (from.size() == 1) return real->reduce(element, operation, to, from, count);
    const void* reduced = from[0];
    for (const void* const next : from.subspan(1)) {
      const void* const both[] = {reduced, next};
      if (const Status entered = real->reduce(element, operation, to, both, count); !entered) return entered;
      reduced = to;
    }
    return ok();
  }
};

TEST(DeviceBits, AreSeenToDifferWhenADeviceRoundsAfterEachOperand) {
  for (const Element element : {Element::float16, Element::bfloat16}) {
    EXPECT_EQ(differences_with<device::SharingDriver>(element, Operation::sum), "") << type::name_of(element);
    EXPECT_NE(differences_with<device::DriverWithStreams<NarrowingStream>>(element, Operation::sum), "")
        << type::name_of(element);
  }
}

} // namespace
} // namespace strata::engine
