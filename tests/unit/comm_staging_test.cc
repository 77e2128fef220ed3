// SPDX-License-Identifier: BSD-3-Clause
// How many slices of a staged call are under way at once: copies of one way stand still, and what has entered the
// queues by then is counted.
#include "device/word.h"
#include "device_calls.h"
#include "sharing_driver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>

namespace strata::comm {
namespace {

enum class Copies : std::uint8_t { from_device, to_device };

/// Of one way; all copies, or all after the one to the first bytes of a vector on the device.
struct Standstill {
  Copies copies = Copies::from_device;
  bool but_for_the_first = false;
  unsigned awaited = 0; ///< copies of that way that are to have entered a queue when they go on
};

/// Copies that have entered a queue, less those that were let through and are finished.
struct Entered {
  unsigned from_device = 0, to_device = 0;
  bool operator==(const Entered&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Entered& entered) {
  return out << entered.from_device << " from the device and " << entered.to_device << " to it";
}

/// Of one rank. What stands still goes on when the awaited copies are there and the rank has looked for more than long
/// enough to bring others; or, for a call that is wrong, after some seconds.
class HaltingDriver : public device::EmulatedDriver {
public:
  explicit HaltingDriver(const std::shared_ptr<Accelerator>& accelerator)
      : EmulatedDriver(accelerator), memory_(accelerator->memory),
        gate_(reinterpret_cast<std::uint32_t*>(
            *accelerator->memory.allocate(Kind::pinned, -1, 64, device::Origin::program))) {
    *gate_ = 0;
  }
  void halt(const Standstill& standstill) { standstill_ = standstill; }
  const Entered& seen() const { return seen_; }

  Result<std::unique_ptr<device::Stream>> make_stream(std::int32_t device) override;
  Result<std::unique_ptr<device::Event>> make_event(std::int32_t device) override;

private:
  struct Queue;
  struct Mark;

  Status enter(device::Stream& queue, const void* to, std::size_t bytes) {
    const device::Memory memory = memory_.find(to);
    const bool to_device = memory.kind == Kind::device;
    ++(to_device ? entered_.to_device : entered_.from_device);
    looks_ = 0;
    if (to_device != (standstill_.copies == Copies::to_device)) return ok();
    if (standstill_.but_for_the_first && !through_.contains(0)) {
      through_[static_cast<std::size_t>(static_cast<const std::byte*>(to) - memory.base)] = bytes;
      return ok();
    }
    return queue.wait_for_word(gate_, 1);
  }
  /// Copies that have come through, up to the first byte that has not. On a loaded machine a later one may be the first
  /// to enter, and makes no room for another.
  unsigned finished() const {
    unsigned copies = 0;
    std::size_t end = 0;
    for (auto copy = through_.begin(); copy != through_.end() && copy->first == end; ++copy, ++copies)
      end += copy->second;
    return copies;
  }
  void look() {
    constexpr unsigned enough = 1000;
    if (goes_on_ || ++looks_ < enough) return;
    const Entered unfinished{entered_.from_device - finished(), entered_.to_device - finished()};
    const unsigned halted = standstill_.copies == Copies::to_device ? unfinished.to_device : unfinished.from_device;
    if (halted < standstill_.awaited && std::chrono::steady_clock::now() < latest_) return;
    goes_on_ = true;
    seen_ = unfinished;
    device::store_word(gate_, 1);
  }

  device::MemoryTable& memory_;
  std::uint32_t* const gate_;
  Standstill standstill_;
  Entered entered_, seen_;
  std::map<std::size_t, std::size_t>
      through_;        ///< by where in the device's memory a copy that is let through begins: bytes
  unsigned looks_ = 0; ///< since a copy has entered
  bool goes_on_ = false;
  const std::chrono::steady_clock::time_point latest_ = std::chrono::steady_clock::now() + std::chrono::seconds(10);
};

struct HaltingDriver::Mark : device::Event {
  Mark(HaltingDriver& of, std::unique_ptr<Event> marked) : driver(of), real(std::move(marked)) {}
  Result<bool> reached() override {
    driver.look();
    return real->reached();
  }
  HaltingDriver& driver;
  std::unique_ptr<Event> real;
};

struct HaltingDriver::Queue : device::PassingStream {
  Queue(HaltingDriver& of, std::unique_ptr<Stream> behind) : PassingStream(std::move(behind)), driver(of) {}
  Status copy(void* to, const void* from, std::size_t bytes) override {
    if (Status entered = driver.enter(*real, to, bytes); !entered) return entered;
    return real->copy(to, from, bytes);
  }
  Status record(device::Event& event) override { return real->record(*static_cast<Mark&>(event).real); }
  HaltingDriver& driver;
};

Result<std::unique_ptr<device::Stream>> HaltingDriver::make_stream(std::int32_t device) {
  auto real = EmulatedDriver::make_stream(device);
  return std::unique_ptr<device::Stream>(std::make_unique<Queue>(*this, std::move(*real)));
}

Result<std::unique_ptr<device::Event>> HaltingDriver::make_event(std::int32_t device) {
  auto real = EmulatedDriver::make_event(device);
  return std::unique_ptr<device::Event>(std::make_unique<Mark>(*this, std::move(*real)));
}

constexpr std::uint64_t bytes_of_slice = 32768;
constexpr std::int64_t elements_of_eight = 8 * bytes_of_slice / sizeof(float); // four pieces on the board

Options staged_by(const char* algorithm, std::uint64_t window) {
  Options options = ThreadJob::options_for_tests();
  options.device_peer = DevicePeer::off;
  options.algorithm = algorithm;
  options.slice = bytes_of_slice;
  options.window = window;
  return options;
}

/// On each of two ranks, in a call of eight slices.
Entered entered_at(const Standstill& standstill, const Options& options) {
  constexpr int ranks = 2;
  ThreadJob job(ranks, options);
  DeviceJob device;
  device.give_devices<HaltingDriver>(job);
  const auto driver_of = [&](int rank) -> HaltingDriver& {
    return static_cast<HaltingDriver&>(job.process(rank).device()->driver());
  };
  for (int rank = 0; rank < ranks; ++rank)
    driver_of(rank).halt(standstill);
  DeviceCall call{{elements_of_eight, Element::float32, Operation::sum, Place::apart}};
  call.all_on_device = true;
  EXPECT_EQ(device.run(job, {call}), "");
  EXPECT_EQ(driver_of(1).seen(), driver_of(0).seen());
  return driver_of(0).seen();
}

TEST(Staging, FetchesAsManySlicesAtOnceAsTheWindowHas) {
  const auto fetched = [](std::uint64_t window, unsigned slices) {
    return entered_at({Copies::from_device, false, slices}, staged_by("direct", window));
  };
  EXPECT_EQ(fetched(4, 4), (Entered{4, 0}));
  EXPECT_EQ(fetched(1, 1), (Entered{1, 0}));
}

TEST(Staging, DeliversAsManySlicesAtOnceAsTheWindowHas) {
  const auto delivered = [](std::uint64_t window, unsigned slices) {
    return entered_at({Copies::to_device, false, slices}, staged_by("direct", window));
  };
  EXPECT_EQ(delivered(4, 4), (Entered{4, 4}));
  EXPECT_EQ(delivered(1, 1), (Entered{1, 1}));
}

// When the first slice is there, another is fetched, though the queue to the device stands still; and it comes as far
// as that queue.
TEST(Staging, FetchesWhileItDelivers) {
  const auto moved = [](std::uint64_t window, unsigned slices) {
    return entered_at({Copies::to_device, true, slices}, staged_by("direct", window));
  };
  EXPECT_EQ(moved(4, 4), (Entered{4, 4}));
  EXPECT_EQ(moved(1, 1), (Entered{1, 1}));
}

TEST(Staging, HasFewerSlicesUnderWayWithLessPinnedMemory) {
  Options options = staged_by("direct", 4);
  options.bounce = 2 * bytes_of_slice;
  EXPECT_EQ(entered_at({Copies::from_device, false, 2}, options), (Entered{2, 0}));
}

TEST(Staging, HasTwoPiecesOnTheBoardUnderWay) {
  const Options options = staged_by("board", 1);
  EXPECT_EQ(entered_at({Copies::from_device, false, 2}, options), (Entered{2, 0}));
  EXPECT_EQ(entered_at({Copies::to_device, true, 1}, options), (Entered{2, 1})) << "the third is fetched meanwhile";
}

} // namespace
} // namespace strata::comm
