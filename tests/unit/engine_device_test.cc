// SPDX-License-Identifier: BSD-3-Clause
// Plans of which some ranks work on a device and some on the host, over shared memory and over messages that are late
// and out of order.
#include "comm/resident.h"
#include "plan_world.h"
#include "sharing_driver.h"

#include <algorithm>
#include <chrono>

namespace strata::engine {
namespace {

using namespace hierarchies;
using device::Accelerator;
using device::Export;
using device::Kind;
using type::Element;
using type::Operation;

/// Ranks that all have a device; the vectors of some are on it.
class DeviceWorld : public World {
public:
  DeviceWorld(const Setting& setting, unsigned seed) : World(setting, seed) {
    const std::vector<bool> readers = [&] {
      std::vector<bool> all(plans_.size(), true);
      if (blind_ < all.size()) all[blind_] = false;
      return all;
    }();
    accelerator_->faults.devices = own_devices_ ? static_cast<std::int32_t>(plans_.size()) : 1;
    office_.least_straight = least_straight_;
    office_.some_come_by_the_host = some_come_by_the_host_;
    const std::optional<MemoryKind> networks = make_driver_(accelerator_)->kind_for_networks();
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      devices_.push_back(
          std::make_unique<comm::Device>(make_driver_(accelerator_), std::size_t{1} << 26, std::size_t{1} << 28));
      auto slots = comm::PeerSlots::make(*devices_.back(), device_of(rank), plans_[rank]->device_needs(networks),
                                         setting.window);
      EXPECT_TRUE(slots) << slots.error().message;
      slots_.push_back(std::move(*slots));
    }
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      std::vector<const std::byte*> mapped(plans_.size());
      for (const std::int32_t peer : plans_[rank]->device_sources())
        if (rank != blind_)
          mapped[static_cast<std::size_t>(peer)] =
              *slots_[rank]->map(slots_[static_cast<std::size_t>(peer)]->announcement());
      EXPECT_TRUE(plans_[rank]->connect_device(*slots_[rank], mapped, networks));
      plans_[rank]->let_read(readers, std::vector<bool>(plans_.size(), own_devices_));
    }
  }
  ~DeviceWorld() {
    for (auto& slots : slots_)
      slots->leave();
  }

  /// Of the ranks, those that are on the device are the bits of `on_device`.
  std::string run(const Job& job, unsigned on_device) {
    struct Part {
      std::byte* memory;
      bool is_device;
      comm::CallBuffers buffers;
      std::unique_ptr<comm::Resident> resident;
      Request request;
    };
    std::deque<Part> parts;
    const std::size_t element_bytes = type::bytes_of(job.element);
    const std::size_t bytes = static_cast<std::size_t>(job.count) * element_bytes;
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      Part& part = parts.emplace_back();
      part.is_device = (on_device >> rank & 1) != 0;
      part.memory = *accelerator_->memory.allocate(part.is_device ? Kind::device : Kind::managed, device_of(rank),
                                                   bytes, Export::allowed);
      const auto mine = vectors::contribution(job.element, job.operation, static_cast<int>(rank), job.count, job.salt);
      std::memcpy(*accelerator_->memory.reach(part.memory, bytes), mine.data(), bytes);
      Request& request = part.request;
      request.input = request.output = part.memory;
      request.elements = job.count;
      request.reducer = {kernel::scalar().find(job.element, job.operation), nullptr, element_bytes};
      request.element = job.element;
      request.operation = job.operation;
      if (part.is_device) {
        EXPECT_TRUE(*part.buffers.look(*devices_[rank], part.memory, part.memory, bytes));
        part.resident = std::make_unique<comm::Resident>(*devices_[rank], part.buffers);
        EXPECT_TRUE(part.resident->prepare(*slots_[rank], setting_.window, plans_[rank]->bounce_bytes()));
        request.memory = part.resident.get();
        devices_[rank]->count_call(comm::DevicePath::peer);
        devices_[rank]->count_call(comm::DevicePath::straight); // so that its bytes are told
      }
      plans_[rank]->submit(request);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto complete = [](const Part& part) { return part.request.complete(); };
    while (!std::all_of(parts.begin(), parts.end(), complete)) {
      between_steps_();
      (void)plans_[random_() % plans_.size()]->advance();
      if (std::chrono::steady_clock::now() <= end) continue;
      std::string why = "the plans do not get any further";
      for (auto& slots : slots_) {
        why += "; " + slots->failure();
        slots->give_up();
      }
      return why;
    }
    const auto wanted =
        vectors::reduction(job.element, job.operation, static_cast<int>(plans_.size()), job.count, job.salt);
    std::string wrong = office_.complaints();
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      const std::byte* seen = *accelerator_->memory.reach(parts[rank].memory, bytes);
      if (const std::string fault = vectors::difference(wanted, seen, element_bytes); !fault.empty())
        wrong += fmt::format("rank {}, {} elements, devices {:b}: {}\n", rank, job.count, on_device, fault);
      EXPECT_TRUE(accelerator_->memory.free(parts[rank].memory, parts[rank].is_device ? Kind::device : Kind::managed));
    }
    return wrong;
  }

  /// Of all ranks, by one path.
  std::uint64_t bytes_by(const char* path) const {
    std::uint64_t sum = 0;
    for (const auto& device : devices_)
      if (const auto rows = device->tallies(); rows.contains(path)) sum += rows.at(path).bytes;
    return sum;
  }
  std::uint64_t put_bytes() const { return bytes_by("peer"); }
  std::function<void()> between_steps_ = [] {};
  /// A rank that has mapped nobody's slots; of the worlds that are made next.
  static inline std::size_t blind_ = SIZE_MAX;
  /// Of messages to other nodes; of the worlds that are made next.
  static inline std::size_t least_straight_ = SIZE_MAX;
  static inline bool some_come_by_the_host_ = true;
  /// Each rank has a device of its own, and its queue waits for flags of the others'.
  static inline bool own_devices_ = false;
  using MakeDriver = std::unique_ptr<device::Driver> (*)(const std::shared_ptr<Accelerator>&);
  template <typename Driver>
  static std::unique_ptr<device::Driver> made(const std::shared_ptr<Accelerator>& accelerator) {
    return std::make_unique<Driver>(accelerator);
  }
  static inline MakeDriver make_driver_ = made<device::SharingDriver>;

private:
  static std::int32_t device_of(std::size_t rank) { return own_devices_ ? static_cast<std::int32_t>(rank) : 0; }

  std::shared_ptr<Accelerator> accelerator_ = std::make_shared<Accelerator>();
  std::vector<std::unique_ptr<comm::Device>> devices_;
  std::vector<std::unique_ptr<comm::PeerSlots>> slots_;
};

void expect_right(const Setting& setting, unsigned seed) {
  SCOPED_TRACE(fmt::format("seed {}; {}", seed, setting.describe()));
  DeviceWorld world(setting, seed);
  ASSERT_EQ(world.failure(), "");
  unsigned salt = 0;
  std::mt19937 random(seed);
  for (const std::int64_t count : {1, 5, 1000, 4097})
    for (const unsigned on_device : {~0U, static_cast<unsigned>(random())})
      ASSERT_EQ(world.run({Element::float32, Operation::sum, count, vectors::Buffers::Place::same, ++salt}, on_device),
                "");
}

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

TEST(DevicePlan, WaitsForFlagsWhereEachRankHasADevice) {
  std::mt19937 random(std::random_device{}());
  DeviceWorld::own_devices_ = true;
  for (const Machine& machine : {factors({4}), factors({2, 3}), nodes({4, 1, 3})})
    for (const hier::Composition& composition : some_compositions(machine.size(), 8, random)) {
      const unsigned seed = std::random_device{}();
      Setting setting{hierarchy(machine, by_node(machine)), composition,
                      seed % 2 == 0 ? Carriage::both : Carriage::memory};
      setting.window = 1 + seed % 4;
      expect_right(setting, seed);
      if (testing::Test::HasFatalFailure()) break;
    }
  DeviceWorld::own_devices_ = false;
}

TEST(DevicePlan, SendsStraightToOtherNodesInEveryComposition) {
  std::mt19937 random(std::random_device{}());
  DeviceWorld::least_straight_ = 64;
  for (const Machine& machine : {factors({2, 2}), nodes({1, 1, 1}), nodes({4, 1, 3})})
    for (const hier::Composition& composition : some_compositions(2, 8, random)) {
      const unsigned seed = std::random_device{}();
      Setting setting{hierarchy(machine, by_node(machine)), composition,
                      seed % 2 == 0 ? Carriage::both : Carriage::messages};
      setting.window = 1 + seed % 4;
      expect_right(setting, seed);
      if (testing::Test::HasFatalFailure()) break;
    }
  DeviceWorld::least_straight_ = SIZE_MAX;
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
    DeviceWorld::blind_ = blind;
    const Machine machine = factors({4});
    for (const char* composition : {"direct", "ring", "binomial.leader"}) {
      Setting setting;
      setting.hierarchy = hierarchy(machine, by_node(machine));
      setting.composition = *hier::composition_from(composition, setting.hierarchy);
      expect_right(setting, std::random_device{}());
    }
  }
  DeviceWorld::blind_ = SIZE_MAX;
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
  const auto bytes_from = [&](std::size_t least_straight, unsigned on_device) {
    DeviceWorld::least_straight_ = least_straight;
    DeviceWorld::some_come_by_the_host_ = false;
    DeviceWorld world(setting, 1);
    EXPECT_EQ(world.run({Element::float32, Operation::sum, count, vectors::Buffers::Place::same, 1}, on_device), "");
    DeviceWorld::least_straight_ = SIZE_MAX;
    DeviceWorld::some_come_by_the_host_ = true;
    return world.bytes_by("GPUDirect");
  };
  // Each of the four ranks sends a quarter of the vector up and one down, and gets as much.
  EXPECT_EQ(bytes_from(64, ~0U), 4u * count * sizeof(float));
  EXPECT_EQ(bytes_from(count * sizeof(float) / 4, ~0U), 4u * count * sizeof(float)) << "from the least size on";
  EXPECT_EQ(bytes_from(count * sizeof(float) / 4 + 1, ~0U), 0U) << "less than that passes through the host";
  EXPECT_EQ(bytes_from(64, 1), count * sizeof(float)) << "of one rank's slices, those of the others are on the host";
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
  static inline int reductions = 0;
};
struct GatedEvent : device::Event {
  explicit GatedEvent(std::unique_ptr<Event> marked) : real(std::move(marked)) {}
  Result<bool> reached() override { return open ? real->reached() : false; }
  std::unique_ptr<Event> real;
  static inline bool open = true;
};
Status CountingStream::record(device::Event& event) { return real->record(*static_cast<GatedEvent&>(event).real); }
struct GatedDriver : device::DriverWithStreams<CountingStream> {
  using DriverWithStreams::DriverWithStreams;
  Result<std::unique_ptr<device::Event>> make_event(std::int32_t device) override {
    auto event = SharingDriver::make_event(device);
    return std::unique_ptr<device::Event>(std::make_unique<GatedEvent>(std::move(*event)));
  }
};

/// Reductions of a ring of four ranks that have entered the queues though no host has seen any work to have run.
int reductions_without_hosts(bool own_devices) {
  Setting setting;
  setting.hierarchy = hierarchy(factors({4}));
  setting.composition = *hier::composition_from("ring", setting.hierarchy);
  DeviceWorld::own_devices_ = own_devices;
  DeviceWorld::make_driver_ = DeviceWorld::made<GatedDriver>;
  int entered = 0;
  {
    DeviceWorld world(setting, 1);
    CountingStream::reductions = 0;
    GatedEvent::open = false;
    const auto gate_opens = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    world.between_steps_ = [&] {
      if (GatedEvent::open || std::chrono::steady_clock::now() < gate_opens) return;
      entered = CountingStream::reductions;
      GatedEvent::open = true;
    };
    EXPECT_EQ(world.run({Element::int32, Operation::sum, 400, vectors::Buffers::Place::same, 1}, ~0U), "");
  }
  DeviceWorld::own_devices_ = false;
  DeviceWorld::make_driver_ = DeviceWorld::made<device::SharingDriver>;
  return entered;
}

TEST(DevicePlan, PutsNoHostBetweenDevicesOfTheirOwn) {
  EXPECT_EQ(reductions_without_hosts(true), 4 * 3) << "each of four ranks adds three times";
  EXPECT_EQ(reductions_without_hosts(false), 0) << "on one device, the hosts say when a payload is there";
}

TEST(DevicePlan, StopsToWaitForFlagsThatNobodySets) {
  const auto accelerator = std::make_shared<Accelerator>();
  accelerator->faults.devices = 2;
  std::vector<std::unique_ptr<comm::Device>> devices;
  std::vector<std::unique_ptr<comm::PeerSlots>> slots;
  for (std::int32_t number = 0; number < 2; ++number) {
    devices.push_back(std::make_unique<comm::Device>(std::make_unique<device::SharingDriver>(accelerator),
                                                     std::size_t{1} << 20, std::size_t{1} << 28));
    slots.push_back(std::move(*comm::PeerSlots::make(*devices.back(), number, {4096, 4096, 4096, 0, false, 0, 1}, 1)));
    EXPECT_TRUE(comm::PeerSlots::parsed(slots.back()->announcement()).waits);
  }
  const std::byte* const peer = *slots[0]->map(slots[1]->announcement());
  EXPECT_TRUE(slots[0]->wait_for_flag(peer + 128, 7));
  EXPECT_TRUE(slots[0]->mark(0));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < end)
    ASSERT_FALSE(slots[0]->passed(0)) << "a flag is 0 at first";
  slots[0]->give_up();
  EXPECT_TRUE(slots[0]->passed(0));
  EXPECT_EQ(slots[0]->failure(), "");
  for (auto& each : slots)
    each->leave();
}

// ---- mutations: what if strata forgot something? ------------------------------------------------------------------

/// What a call between two nodes of a rank each comes to, with messages straight between their devices.
std::string straight_between_two(DeviceWorld::MakeDriver make_driver) {
  Setting setting;
  setting.hierarchy = hierarchy(factors({2}));
  setting.composition = *hier::composition_from("direct", setting.hierarchy);
  setting.carriage = Carriage::messages;
  DeviceWorld::least_straight_ = 1;
  DeviceWorld::make_driver_ = make_driver;
  std::string wrong;
  {
    DeviceWorld world(setting, 1);
    for (unsigned salt = 1; salt < 9; ++salt)
      wrong += world.run({Element::int32, Operation::sum, 3000, vectors::Buffers::Place::same, salt}, ~0U);
  }
  DeviceWorld::least_straight_ = SIZE_MAX;
  DeviceWorld::make_driver_ = DeviceWorld::made<device::SharingDriver>;
  return wrong;
}

TEST(DevicePlan, IsSeenToBeWrongWhenWhatGoesStraightIsSentTooEarly) {
  EXPECT_EQ(straight_between_two(DeviceWorld::made<device::SharingDriver>), "");
  EXPECT_NE(straight_between_two(DeviceWorld::made<device::ImpatientSharingDriver>), "");
}

/// As if no queue waited for a flag.
struct DeafStream : device::PassingStream {
  using PassingStream::PassingStream;
  Status wait_for_word(const std::uint32_t*, std::uint32_t) override { return ok(); }
};

TEST(DevicePlan, IsSeenToBeWrongWhenNoQueueWaitsForAFlag) {
  const auto ring_with = [](DeviceWorld::MakeDriver make_driver) {
    Setting setting;
    setting.hierarchy = hierarchy(factors({4}));
    setting.composition = *hier::composition_from("ring", setting.hierarchy);
    DeviceWorld::own_devices_ = true;
    DeviceWorld::make_driver_ = make_driver;
    std::string wrong;
    {
      DeviceWorld world(setting, 1);
      for (unsigned salt = 1; salt < 9; ++salt)
        wrong += world.run({Element::int32, Operation::sum, 3000, vectors::Buffers::Place::same, salt}, ~0U);
    }
    DeviceWorld::own_devices_ = false;
    DeviceWorld::make_driver_ = DeviceWorld::made<device::SharingDriver>;
    return wrong;
  };
  EXPECT_EQ(ring_with(DeviceWorld::made<device::SharingDriver>), "");
  EXPECT_NE(ring_with(DeviceWorld::made<device::DriverWithStreams<DeafStream>>), "");
}

TEST(DevicePlanDeathTest, DiesWhenATransportOfTheHostTouchesDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Blunt : device::SharingDriver {
    using SharingDriver::SharingDriver;
    void* address_for_networks(void* memory) override { return memory; }
  };
  EXPECT_DEATH((void)straight_between_two(DeviceWorld::made<Blunt>), "");
}

} // namespace
} // namespace strata::engine
