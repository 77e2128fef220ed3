// SPDX-License-Identifier: BSD-3-Clause
#include "device_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace strata::engine {
namespace {

TEST(DevicePlan, RunsCompositionsOfTwoLevelsOverEveryCarriage) {
  std::mt19937 random(std::random_device{}());
  for (const Machine& machine : {factors({2, 2}), nodes({1, 2, 2}), nodes({4, 1, 3})})
    for (const hier::Composition& composition : some_compositions(2, 8, random)) {
      const unsigned seed = std::random_device{}();
      Setting setting{hierarchy(machine, by_node(machine)), composition, carriages[seed % 3]};
      setting.window = 1 + seed % 4;
      expect_right(setting, seed);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(DevicePlan, SendsStraightToOtherNodesInEveryComposition) {
  std::mt19937 random(std::random_device{}());
  Devices kind;
  kind.least_straight = 64;
  for (const Machine& machine : {factors({2, 2}), nodes({1, 1, 1}), nodes({4, 1, 3})})
    for (const hier::Composition& composition : some_compositions(2, 8, random)) {
      const unsigned seed = std::random_device{}();
      Setting setting{hierarchy(machine, by_node(machine)), composition,
                      seed % 2 == 0 ? Carriage::both : Carriage::messages};
      setting.window = 1 + seed % 4;
      expect_right(setting, seed, kind);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(DevicePlan, RunsEveryAlgorithmOfOneLevelForTwoToSixRanks) {
  for (const int ranks : {2, 3, 4, 6})
    for (const hier::Composition& composition : compositions(1)) {
      const unsigned seed = std::random_device{}();
      Setting setting{hierarchy(factors({ranks})), composition, Carriage::memory};
      setting.window = 1 + seed % 4;
      expect_right(setting, seed);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(DevicePlan, GoesThroughTheHostForAReaderThatHasMappedNothing) {
  for (const std::size_t blind : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    Devices kind;
    kind.blind = blind;
    const Machine machine = factors({4});
    for (const char* composition : {"direct", "ring", "binomial.leader"}) {
      Setting setting;
      setting.hierarchy = hierarchy(machine, by_node(machine));
      setting.composition = *hier::composition_from(composition, setting.hierarchy);
      expect_right(setting, std::random_device{}(), kind);
    }
  }
}

TEST(DevicePlan, PutsWhatItSendsToOtherNodesIntoNoSlot) {
  Setting setting;
  setting.hierarchy = hierarchy(factors({2, 2}));
  setting.composition = *hier::composition_from("direct+direct", setting.hierarchy);
  setting.carriage = Carriage::both;
  setting.slice_bytes = 65536;
  DeviceWorld world(setting, 1);
  constexpr std::int64_t count = 4000;
  EXPECT_EQ(world.run({Element::float32, Operation::sum, count, vectors::Buffers::Place::same, 1}, ~0U), "");
  // In the node: half of the vector up and half of it down, of each of the four ranks.
  EXPECT_EQ(world.put_bytes(), 4u * count * sizeof(float));
  EXPECT_EQ(world.run({Element::float32, Operation::sum, count, vectors::Buffers::Place::same, 2}, 0), "");
  EXPECT_EQ(world.put_bytes(), 4u * count * sizeof(float)) << "slices on the host put nothing there";
}

TEST(DevicePlan, CountsWhatGoesStraightToOtherNodesAndComesFromThere) {
  Setting setting;
  setting.hierarchy = hierarchy(factors({2, 2}));
  setting.composition = *hier::composition_from("direct+direct", setting.hierarchy);
  setting.carriage = Carriage::both;
  setting.slice_bytes = 65536;
  constexpr std::int64_t count = 4000;
  const auto bytes_from = [&](std::size_t least_straight, unsigned on_device, const char* path = "GPUDirect") {
    Devices kind;
    kind.least_straight = least_straight;
    kind.some_come_by_the_host = false;
    DeviceWorld world(setting, 1, kind);
    EXPECT_EQ(world.run({Element::float32, Operation::sum, count, vectors::Buffers::Place::same, 1}, on_device), "");
    return world.bytes_by(path);
  };
  // Each of the four ranks sends a quarter of the vector up and one down, and gets as much.
  EXPECT_EQ(bytes_from(64, ~0U), 4u * count * sizeof(float));
  EXPECT_EQ(bytes_from(count * sizeof(float) / 4, ~0U), 4u * count * sizeof(float)) << "from the least size on";
  EXPECT_EQ(bytes_from(count * sizeof(float) / 4 + 1, ~0U), 0U) << "less than that passes through the host";
  EXPECT_EQ(bytes_from(64, 1), count * sizeof(float)) << "of one rank's slices, those of the others are on the host";
  // What takes the other way is counted there.
  EXPECT_EQ(bytes_from(64, ~0U, "peer, through the host"), 0U);
  EXPECT_EQ(bytes_from(count * sizeof(float) / 4 + 1, ~0U, "peer, through the host"), 4u * count * sizeof(float));
  EXPECT_EQ(bytes_from(64, 1, "peer, through the host"), count * sizeof(float)) << "what its neighbour has on the host";
}

// ---- copies beside the queue ---------------------------------------------------------------------------------------

/// Which streams do what.
struct NotedStream : device::PassingStream {
  using PassingStream::PassingStream;
  Status reduce(Element element, Operation operation, void* to, std::span<const void* const> from,
                std::size_t count) override {
    if (count > 0) reducing.insert(this);
    return real->reduce(element, operation, to, from, count);
  }
  Status copy(void* to, const void* from, std::size_t bytes) override {
    const bool to_device = is_on_device(to), from_device = is_on_device(from);
    if (from_device && !to_device) to_host.insert(this);
    if (to_device && !from_device) from_host.insert(this);
    return real->copy(to, from, bytes);
  }
  static bool is_on_device(const void* memory) { return looker->memory_of(memory)->kind == Kind::device; }
  static inline device::Driver* looker = nullptr; ///< one of the drivers, all of which know all memory
  static inline std::set<const void*> reducing, to_host, from_host;
};
struct NotingDriver : device::DriverWithStreams<NotedStream> {
  explicit NotingDriver(std::shared_ptr<Accelerator> accelerator) : DriverWithStreams(std::move(accelerator)) {
    NotedStream::looker = this;
  }
};

bool are_apart(const std::set<const void*>& some, const std::set<const void*>& others) {
  return std::none_of(some.begin(), some.end(), [&](const void* one) { return others.contains(one); });
}

TEST(DevicePlan, CopiesToAndFromTheHostBesideItsReductions) {
  Setting setting;
  setting.hierarchy = hierarchy(factors({2, 2}));
  setting.composition = *hier::composition_from("direct+ring", setting.hierarchy);
  setting.carriage = Carriage::both;
  setting.window = 4;
  Devices kind;
  kind.make_driver = Devices::made<NotingDriver>;
  DeviceWorld world(setting, 1, kind);
  for (auto* const streams : {&NotedStream::reducing, &NotedStream::to_host, &NotedStream::from_host})
    streams->clear(); // of what was done before the first call
  EXPECT_EQ(world.run({Element::float32, Operation::sum, 20000, vectors::Buffers::Place::same, 1}, ~0U), "");
  constexpr std::size_t ranks = 4;
  EXPECT_EQ(NotedStream::reducing.size(), ranks);
  EXPECT_EQ(NotedStream::to_host.size(), ranks);
  EXPECT_EQ(NotedStream::from_host.size(), ranks);
  EXPECT_TRUE(are_apart(NotedStream::reducing, NotedStream::to_host));
  EXPECT_TRUE(are_apart(NotedStream::reducing, NotedStream::from_host));
  EXPECT_TRUE(are_apart(NotedStream::to_host, NotedStream::from_host));
}

/// What the stream that has a certain part in a plan is given runs at once, whatever the others do.
enum class Part { reduces, copies_to_host, copies_from_host };
struct EagerStream : NotedStream {
  using NotedStream::NotedStream;
  Status record(device::Event& event) override {
    const std::set<const void*>& those = eager == Part::reduces          ? reducing
                                         : eager == Part::copies_to_host ? to_host
                                                                         : from_host;
    if (const Status recorded = real->record(event); !recorded) return recorded;
    return those.contains(this) ? real->synchronise() : ok();
  }
  static inline Part eager = Part::reduces;
};
struct EagerDriver : device::DriverWithStreams<EagerStream> {
  explicit EagerDriver(std::shared_ptr<Accelerator> accelerator) : DriverWithStreams(std::move(accelerator)) {
    NotedStream::looker = this;
  }
};

// Work that nobody waits for runs late, and so no stream runs ahead of another unless it is made to.
TEST(DevicePlan, IsRightWhicheverStreamRunsAhead) {
  for (const Part part : {Part::reduces, Part::copies_to_host, Part::copies_from_host})
    for (const Carriage carriage : {Carriage::messages, Carriage::both})
      for (const char* composition :
           {"direct+ring", "ring+direct", "direct+recursive_doubling.exchange", "recursive_halving+direct.exchange"}) {
        EagerStream::eager = part;
        Setting setting;
        setting.hierarchy = hierarchy(factors({2, 4}));
        setting.composition = *hier::composition_from(composition, setting.hierarchy);
        setting.carriage = carriage;
        setting.window = 8;
        setting.slice_bytes = 2048;
        Devices kind;
        kind.make_driver = Devices::made<EagerDriver>;
        DeviceWorld world(setting, 1, kind);
        for (auto* const streams : {&NotedStream::reducing, &NotedStream::to_host, &NotedStream::from_host})
          streams->clear();
        for (unsigned salt = 1; salt < 4; ++salt)
          EXPECT_EQ(world.run({Element::int32, Operation::sum, 9000, vectors::Buffers::Place::same, salt}, ~0U), "")
              << composition << ' ' << static_cast<int>(part);
      }
}

/// Waits for no other stream.
struct HeedlessStream : device::PassingStream {
  using PassingStream::PassingStream;
  Status wait_for(device::Event&) override { return ok(); }
};

/// What calls between four nodes of a rank each come to, by messages that pass through the host.
std::string bounced_between_four(const char* composition, Devices::MakeDriver make_driver) {
  Setting setting;
  setting.hierarchy = hierarchy(factors({4}));
  setting.composition = *hier::composition_from(composition, setting.hierarchy);
  setting.carriage = Carriage::messages;
  setting.window = 4;
  Devices kind;
  kind.make_driver = make_driver;
  std::string wrong;
  DeviceWorld world(setting, 1, kind);
  for (unsigned salt = 1; salt < 5; ++salt)
    wrong += world.run({Element::int32, Operation::sum, 9000, vectors::Buffers::Place::same, salt}, ~0U);
  return wrong;
}

TEST(DevicePlan, IsSeenToBeWrongWhenCopiesBesideTheQueueDoNotAwaitIt) {
  for (const char* composition : {"ring", "recursive_doubling", "direct"}) {
    EXPECT_EQ(bounced_between_four(composition, Devices::made<device::SharingDriver>), "") << composition;
    EXPECT_NE(bounced_between_four(composition, Devices::made<device::DriverWithStreams<HeedlessStream>>), "")
        << composition;
  }
}

// ---- mutations: what if strata forgot something? ------------------------------------------------------------------

/// What a call between two nodes of a rank each comes to, with messages straight between their devices.
std::string straight_between_two(Devices::MakeDriver make_driver) {
  Setting setting;
  setting.hierarchy = hierarchy(factors({2}));
  setting.composition = *hier::composition_from("direct", setting.hierarchy);
  setting.carriage = Carriage::messages;
  Devices kind;
  kind.least_straight = 1;
  kind.make_driver = make_driver;
  std::string wrong;
  DeviceWorld world(setting, 1, kind);
  for (unsigned salt = 1; salt < 9; ++salt)
    wrong += world.run({Element::int32, Operation::sum, 3000, vectors::Buffers::Place::same, salt}, ~0U);
  return wrong;
}

TEST(DevicePlan, IsSeenToBeWrongWhenWhatGoesStraightIsSentTooEarly) {
  EXPECT_EQ(straight_between_two(Devices::made<device::SharingDriver>), "");
  EXPECT_NE(straight_between_two(Devices::made<device::ImpatientSharingDriver>), "");
}

TEST(DevicePlanDeathTest, DiesWhenATransportOfTheHostTouchesDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Blunt : device::SharingDriver {
    using SharingDriver::SharingDriver;
    void* address_for_networks(void* memory) override { return memory; }
  };
  EXPECT_DEATH((void)straight_between_two(Devices::made<Blunt>), "");
}

} // namespace
} // namespace strata::engine
