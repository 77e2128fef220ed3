// SPDX-License-Identifier: BSD-3-Clause
// Queues of devices that wait for each other by flags.
#include "device_world.h"

#include <gtest/gtest.h>

#include <utility>

namespace strata::engine {
namespace {

Devices of_their_own(Devices::MakeDriver make_driver = Devices::made<device::SharingDriver>) {
  Devices kind;
  kind.of_their_own = true;
  kind.make_driver = make_driver;
  return kind;
}

TEST(DeviceFlags, WaitsForFlagsWhereEachRankHasADevice) {
  std::mt19937 random(std::random_device{}());
  for (const Machine& machine : {factors({4}), factors({2, 3}), nodes({4, 1, 3})})
    for (const hier::Composition& composition : some_compositions(machine.size(), 8, random)) {
      const unsigned seed = std::random_device{}();
      Setting setting{hierarchy(machine, by_node(machine)), composition,
                      seed % 2 == 0 ? Carriage::both : Carriage::memory};
      setting.window = 1 + seed % 4;
      expect_right(setting, seed, of_their_own());
      if (testing::Test::HasFatalFailure()) return;
    }
}

// What the network fetches from a device, or puts there, a queue may have to wait for a flag to fill, or to read.
TEST(DeviceFlags, WaitsForFlagsBesideMessagesThatGoStraight) {
  std::mt19937 random(std::random_device{}());
  Devices kind = of_their_own();
  kind.least_straight = 64;
  for (const Machine& machine : {factors({2, 2}), factors({2, 3}), nodes({4, 1, 3})})
    for (const hier::Composition& composition : some_compositions(2, 8, random)) {
      const unsigned seed = std::random_device{}();
      Setting setting{hierarchy(machine, by_node(machine)), composition, Carriage::both};
      setting.window = 1 + seed % 4;
      expect_right(setting, seed, kind);
      if (testing::Test::HasFatalFailure()) return;
    }
  Setting setting{hierarchy(factors({2, 2}), by_node(factors({2, 2}))), {}, Carriage::both};
  setting.composition = *hier::composition_from("direct+ring", setting.hierarchy);
  DeviceWorld world(setting, 1, kind);
  EXPECT_EQ(world.run({Element::int32, Operation::sum, 4000, vectors::Buffers::Place::same, 1}, ~0U), "");
  EXPECT_GT(world.bytes_by("GPUDirect"), 0u);
  EXPECT_TRUE(world.sets_flags());
}

/// Nothing is seen to have run before the gate is opened; reductions are counted as they are put into a queue.
struct CountingStream : device::PassingStream {
  using PassingStream::PassingStream;
  Status reduce(Element element, Operation operation, void* to, std::span<const void* const> from,
                std::size_t count) override {
    if (count > 0) ++reductions;
    return real->reduce(element, operation, to, from, count);
  }
  Status record(device::Event& event) override;
  Status wait_for(device::Event& event) override;
  static inline int reductions = 0;
};
struct GatedEvent : device::Event {
  explicit GatedEvent(std::unique_ptr<Event> marked) : real(std::move(marked)) {}
  Result<bool> reached() override { return open ? real->reached() : false; }
  std::unique_ptr<Event> real;
  static inline bool open = true;
};
Status CountingStream::record(device::Event& event) { return real->record(*static_cast<GatedEvent&>(event).real); }
Status CountingStream::wait_for(device::Event& event) { return real->wait_for(*static_cast<GatedEvent&>(event).real); }
struct GatedDriver : device::DriverWithStreams<CountingStream> {
  using DriverWithStreams::DriverWithStreams;
  Result<std::unique_ptr<device::Event>> make_event(std::int32_t device) override {
    auto event = SharingDriver::make_event(device);
    return std::unique_ptr<device::Event>(std::make_unique<GatedEvent>(std::move(*event)));
  }
};

/// Reductions of a ring of four ranks that have entered the queues though no host has seen any work to have run.
int reductions_without_hosts(bool own_devices, std::int64_t slices = 1) {
  constexpr std::int64_t count = 400;
  Setting setting;
  setting.slice_bytes = count * sizeof(std::int32_t);
  setting.window = 4;
  setting.hierarchy = hierarchy(factors({4}));
  setting.composition = *hier::composition_from("ring", setting.hierarchy);
  Devices kind = of_their_own(Devices::made<GatedDriver>);
  kind.of_their_own = own_devices;
  int entered = 0;
  DeviceWorld world(setting, 1, kind);
  CountingStream::reductions = 0;
  GatedEvent::open = false;
  int idle_steps = 0;
  world.between_steps_ = [&] {
    if (GatedEvent::open) return;
    idle_steps = CountingStream::reductions == std::exchange(entered, CountingStream::reductions) ? idle_steps + 1 : 0;
    GatedEvent::open = idle_steps == 20000; // nothing enters any more
  };
  EXPECT_EQ(world.run({Element::int32, Operation::sum, slices * count, vectors::Buffers::Place::same, 1}, ~0U), "");
  return entered;
}

TEST(DeviceFlags, PutsNoHostBetweenDevicesOfTheirOwn) {
  EXPECT_EQ(reductions_without_hosts(true), 4 * 3) << "each of four ranks adds three times";
  EXPECT_EQ(reductions_without_hosts(true, 3), 3 * 4 * 3) << "of every slice that is under way";
  EXPECT_EQ(reductions_without_hosts(true, 6), 4 * 4 * 3) << "the fifth slice needs a slot that a reader has done with";
  EXPECT_EQ(reductions_without_hosts(false), 0) << "on one device, the hosts say when a payload is there";
}

TEST(DeviceFlags, StopsToWaitForFlagsThatNobodySets) {
  const auto accelerator = std::make_shared<Accelerator>();
  accelerator->faults.devices = 2;
  std::vector<std::unique_ptr<comm::Device>> devices;
  std::vector<std::unique_ptr<comm::PeerSlots>> slots;
  for (std::int32_t number = 0; number < 2; ++number) {
    devices.push_back(std::make_unique<comm::Device>(std::make_unique<device::SharingDriver>(accelerator),
                                                     std::size_t{1} << 20, std::size_t{1} << 28));
    engine::DeviceNeeds needs;
    needs.slots = needs.flag_bytes = needs.region = needs.room = 4096;
    needs.inputs = 1;
    slots.push_back(
        std::move(*comm::PeerSlots::make(*devices.back(), number, needs, 1, comm::PeerSlots::Flags::wanted)));
    EXPECT_TRUE(comm::PeerSlots::parsed(slots.back()->announcement()).waits);
  }
  std::byte* const peer = *slots[0]->map(slots[1]->announcement());
  // More than are remembered, of few flags: what is remembered of older ones must not set a flag back.
  for (std::uint32_t value = 1; value < 200; ++value) {
    EXPECT_TRUE(slots[0]->set_flag(peer + 128 + value % 4 * 4, value));
    EXPECT_TRUE(slots[1]->wait_for_flag(128 + value % 4 * 4, value));
  }
  (void)slots[0]->stream().synchronise();
  for (std::uint32_t value = 200; value < 208; ++value)
    EXPECT_TRUE(slots[1]->wait_for_flag(128 + value % 4 * 4, value));
  EXPECT_TRUE(slots[1]->mark(0));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < end)
    ASSERT_FALSE(slots[1]->passed(0)) << "a flag is 0 at first";
  slots[1]->give_up();
  EXPECT_TRUE(slots[1]->passed(0));
  EXPECT_EQ(slots[1]->failure(), "");
  for (auto& each : slots)
    each->leave();
}

/// The first device never sets a flag.
struct MuteStream : device::PassingStream {
  using PassingStream::PassingStream;
  Status set_word(std::uint32_t* word, std::uint32_t value) override {
    return mute ? ok() : real->set_word(word, value);
  }
  bool mute = false;
};
struct MutingDriver : device::SharingDriver {
  using SharingDriver::SharingDriver;
  Result<std::unique_ptr<device::Stream>> make_stream(std::int32_t device) override {
    auto stream = std::make_unique<MuteStream>(std::move(*SharingDriver::make_stream(device)));
    streams.push_back(device == 0 ? stream.get() : nullptr);
    return std::unique_ptr<device::Stream>(std::move(stream));
  }
  static inline std::vector<MuteStream*> streams;
};

// What rank 1 lets its queue run on for, its own flags for rank 2 among it, is no result.
TEST(DeviceFlags, IsNotDoneWhenAQueueThatItWaitedForWasGivenUp) {
  Setting setting;
  setting.hierarchy = hierarchy(factors({4}));
  setting.composition = *hier::composition_from("ring", setting.hierarchy);
  {
    DeviceWorld world(setting, 1, of_their_own(Devices::made<MutingDriver>));
    for (MuteStream* const stream : MutingDriver::streams)
      if (stream != nullptr) stream->mute = true;
    EXPECT_EQ(world.seen_by_the_last_when_rank_1_gives_up(
                  {Element::int32, Operation::sum, 400, vectors::Buffers::Place::same, 1}),
              "not done: a rank of the node has given up the call");
  }
  MutingDriver::streams.clear();
}

/// As if no queue waited for a flag.
struct DeafStream : device::PassingStream {
  using PassingStream::PassingStream;
  Status wait_for_word(const std::uint32_t*, std::uint32_t) override { return ok(); }
};

TEST(DeviceFlags, IsSeenToBeWrongWhenNoQueueWaitsForAFlag) {
  const auto ring_with = [](Devices::MakeDriver make_driver) {
    Setting setting;
    setting.hierarchy = hierarchy(factors({4}));
    setting.composition = *hier::composition_from("ring", setting.hierarchy);
    std::string wrong;
    DeviceWorld world(setting, 1, of_their_own(make_driver));
    for (unsigned salt = 1; salt < 9; ++salt)
      wrong += world.run({Element::int32, Operation::sum, 3000, vectors::Buffers::Place::same, salt}, ~0U);
    return wrong;
  };
  EXPECT_EQ(ring_with(Devices::made<device::SharingDriver>), "");
  EXPECT_NE(ring_with(Devices::made<device::DriverWithStreams<DeafStream>>), "");
}

} // namespace
} // namespace strata::engine
