// SPDX-License-Identifier: BSD-3-Clause
// Calls with buffers in the memory of an emulated device, every rank with kinds of memory of its own; and the mutations
// that show what the emulated device catches.
#include "context_calls.h"
#include "device/emulated/driver.h"
#include "thread_bootstrap.h"

#include <gtest/gtest.h>

namespace strata::comm {
namespace {

using device::Accelerator;
using device::Kind;
using type::Element;
using type::Operation;

/// Memory of any kind for a vector.
class KindOfMemory {
public:
  KindOfMemory(Accelerator& accelerator, Kind kind, std::int32_t device, std::size_t bytes, std::size_t offset)
      : accelerator_(accelerator), kind_(kind), offset_(offset) {
    if (kind == Kind::host)
      host_.resize(bytes + offset);
    else
      begin_ = *accelerator.memory.allocate(kind, device, bytes + offset, device::Export::allowed);
  }
  ~KindOfMemory() {
    if (begin_ != nullptr) (void)accelerator_.memory.free(begin_, kind_);
  }
  KindOfMemory(const KindOfMemory&) = delete;
  KindOfMemory& operator=(const KindOfMemory&) = delete;
  std::byte* pointer() { return (begin_ != nullptr ? begin_ : host_.data()) + offset_; }
  std::byte* reach(std::size_t bytes) { return *accelerator_.memory.reach(pointer(), bytes); }

private:
  Accelerator& accelerator_;
  Kind kind_;
  std::size_t offset_;
  std::vector<std::byte> host_;
  std::byte* begin_ = nullptr;
};

constexpr Kind kinds[] = {Kind::device, Kind::host, Kind::managed, Kind::pinned};

struct DeviceCall : TestCall {
  unsigned salt = 1;      ///< of the values
  unsigned mixture = 0;   ///< of the kinds: rank and this decide
  std::size_t offset = 0; ///< elements before the vectors
};

std::string fault_of(Context& context, Accelerator& accelerator, const DeviceCall& test) {
  const unsigned pick = static_cast<unsigned>(context.rank()) * 5 + test.mixture;
  const Kind send_kind = kinds[pick % 4], receive_kind = kinds[pick / 4 % 4];
  const auto mine = vectors::contribution(test.element, test.operation, context.rank(), test.count, test.salt);
  const std::size_t offset = test.offset * type::bytes_of(test.element);
  KindOfMemory send(accelerator, send_kind, 0, mine.size(), offset);
  KindOfMemory receive(accelerator, receive_kind, accelerator.faults.devices - 1, mine.size(), offset);
  std::memcpy((test.place == Place::same ? receive : send).reach(mine.size()), mine.data(), mine.size());
  Call call;
  call.input = test.place == Place::same ? receive.pointer() : send.pointer();
  call.output = receive.pointer();
  call.elements = test.count;
  call.element = test.element;
  call.operation = test.operation;
  if (context.all_reduce(call) != Outcome::done) return "not done: " + context.trouble() + "\n";
  const auto wanted = vectors::reduction(test.element, test.operation, context.ranks(), test.count, test.salt);
  const std::string fault = vectors::difference(wanted, receive.reach(mine.size()), type::bytes_of(test.element));
  if (fault.empty()) return {};
  return fmt::format("rank {}, {} {} {}, kinds {} {}: {}\n", context.rank(), test.count, type::name_of(test.element),
                     test.place == Place::same ? "in place" : "apart", static_cast<int>(send_kind),
                     static_cast<int>(receive_kind), fault);
}

/// A job whose ranks share one accelerator.
class DeviceJob {
public:
  template <typename Driver = device::EmulatedDriver>
  void give_devices(ThreadJob& job) {
    accelerator->initialised = true;
    for (int rank = 0; rank < job.ranks(); ++rank)
      job.process(rank).use_device(std::make_unique<Driver>(accelerator));
  }
  std::string run(ThreadJob& job, const std::vector<DeviceCall>& calls) {
    Faults faults(job.ranks());
    job.run_in_context([&](Context& context) {
      for (const DeviceCall& call : calls)
        faults.add(context, fault_of(context, *accelerator, call));
    });
    return faults.text();
  }
  std::shared_ptr<Accelerator> accelerator = std::make_shared<Accelerator>();
};

std::vector<DeviceCall> mixtures(std::initializer_list<std::int64_t> counts) {
  std::vector<DeviceCall> calls;
  unsigned salt = 0;
  for (const std::int64_t count : counts)
    for (const Place place : {Place::apart, Place::same})
      for (unsigned mixture = 0; mixture < 16; mixture += 3)
        calls.push_back({{count, Element::float32, Operation::sum, place}, ++salt, mixture, mixture % 2});
  return calls;
}

std::string run(const Options& options, int ranks, const std::vector<DeviceCall>& calls, const char* faults = "") {
  ThreadJob job(ranks, options);
  DeviceJob device;
  device.accelerator->faults = *device::parse_faults(faults);
  device.give_devices(job);
  return device.run(job, calls);
}

TEST(DeviceCalls, AreRightForAnyMixtureOfMemoryKinds) {
  for (const int ranks : {2, 3, 4})
    EXPECT_EQ(run(ThreadJob::options_for_tests(), ranks, mixtures({1, 7, 1000, 30011, 200003})), "") << ranks;
}

TEST(DeviceCalls, AreRightInSlicesOfEveryAlgorithm) {
  for (const char* algorithm : {"board", "direct", "ring", "recursive_halving", "binomial", "direct.exchange"}) {
    Options options = ThreadJob::options_for_tests();
    options.algorithm = algorithm;
    options.slice = 4096;
    options.window = 4;
    EXPECT_EQ(run(options, 3, mixtures({5, 3000, 50001})), "") << algorithm;
  }
}

TEST(DeviceCalls, AreRightForAllTypesAndOperations) {
  std::vector<DeviceCall> calls;
  vectors::for_each_kind([&](Element element, Operation operation) {
    calls.push_back({{9, element, operation, Place::apart}, 2, static_cast<unsigned>(calls.size()), 1});
    calls.push_back({{9001, element, operation, Place::same}, 2, static_cast<unsigned>(calls.size()), 1});
  });
  EXPECT_EQ(run(ThreadJob::options_for_tests(), 2, calls), "");
}

TEST(DeviceCalls, AreRightWithLessPinnedMemoryThanTheWindowWants) {
  for (const char* algorithm : {"board", "direct"})
    for (const std::uint64_t bounce : {std::uint64_t{4096}, std::uint64_t{3} << 15}) {
      Options options = ThreadJob::options_for_tests();
      options.algorithm = algorithm;
      options.slice = 32768;
      options.window = 8;
      options.bounce = bounce;
      EXPECT_EQ(run(options, 3, mixtures({300007})), "") << algorithm << ' ' << bounce;
    }
}

TEST(DeviceCalls, AreRightWithoutPinnedMemory) {
  EXPECT_EQ(run(ThreadJob::options_for_tests(), 2, mixtures({3, 200003}), "fail-pinned"), "");
}

TEST(DeviceCalls, AreRightBetweenTwoDevicesOfAProcess) {
  EXPECT_EQ(run(ThreadJob::options_for_tests(), 2, mixtures({3, 50000}), "devices=2"), "");
}

TEST(DeviceCalls, CountWhatWasStaged) {
  ThreadJob job(2);
  DeviceJob device;
  device.give_devices(job);
  const DeviceCall call{{1000, Element::float32, Operation::sum, Place::same}, 1, 0, 0};
  EXPECT_EQ(device.run(job, {call, call}), ""); // rank 0 in device memory, rank 1 in the host's
  const auto rows = job.process(0).device()->tallies();
  ASSERT_TRUE(rows.contains("staged"));
  EXPECT_EQ(rows.at("staged").calls, 2u);
  EXPECT_EQ(rows.at("staged").bytes, 2u * 2 * 4000);
  EXPECT_TRUE(job.process(1).device()->tallies().empty());
}

TEST(DeviceCalls, AskNothingBeforeTheProgramUsesTheDevice) {
  class Silent : public device::EmulatedDriver {
  public:
    using EmulatedDriver::EmulatedDriver;
    Result<device::Memory> memory_of(const void*) override {
      ADD_FAILURE() << "asked for a pointer's memory";
      return device::Memory{};
    }
  };
  ThreadJob job(2);
  DeviceJob device;
  device.give_devices<Silent>(job);
  device.accelerator->initialised = false;
  Faults faults(2);
  job.run_in_context([&](Context& context) { faults.add(context, comm::fault_of(context, {100})); });
  EXPECT_EQ(faults.text(), "");
}

TEST(DeviceCalls, AskOncePerBuffer) {
  struct Counting : device::EmulatedDriver {
    using EmulatedDriver::EmulatedDriver;
    std::atomic<int> questions{0};
    Result<device::Memory> memory_of(const void* pointer) override {
      ++questions;
      return EmulatedDriver::memory_of(pointer);
    }
  };
  ThreadJob job(2);
  DeviceJob device;
  device.give_devices<Counting>(job);
  const auto questions = [&] { return static_cast<Counting&>(job.process(0).device()->driver()).questions.load(); };
  EXPECT_EQ(device.run(job, {{{100000, Element::int32, Operation::sum, Place::same}, 1, 0, 0}}), "");
  EXPECT_EQ(questions(), 1);
  EXPECT_EQ(device.run(job, {{{100000, Element::int32, Operation::sum, Place::apart}, 1, 0, 0}}), "");
  EXPECT_EQ(questions(), 3);
}

TEST(DeviceCalls, EndWhenTheDeviceIsLost) {
  const std::vector<DeviceCall> calls(2, {{60000, Element::int32, Operation::sum, Place::same}, 1, 0, 0});
  for (const char* algorithm : {"board", "direct"})
    for (const char* faults : {"fail-streams", "lost-after=1", "lost-after=2"}) {
      Options options = ThreadJob::options_for_tests();
      options.algorithm = algorithm;
      options.slice = 32768;
      const std::string said = run(options, 1, calls, faults);
      EXPECT_NE(said.find("rank 0 cannot copy a buffer from or to device memory in call 1 "), std::string::npos)
          << said;
      EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << "the next call ends at once";
    }
}

// ---- mutations: what if strata forgot something? ------------------------------------------------------------------

/// As if no call waited for its copies.
struct ImpatientDriver : device::EmulatedDriver {
  using EmulatedDriver::EmulatedDriver;
  struct Reached : device::Event {
    Result<bool> reached() override { return true; }
  };
  struct Unmarked : device::Stream {
    explicit Unmarked(std::unique_ptr<Stream> real) : real_(std::move(real)) {}
    Status copy(void* to, const void* from, std::size_t bytes) override { return real_->copy(to, from, bytes); }
    Status reduce(Element, Operation, void*, std::span<const void* const>, std::size_t) override { return ok(); }
    Status record(device::Event&) override { return ok(); }
    Status wait_for(device::Event&) override { return ok(); }
    Status synchronise() override { return real_->synchronise(); }
    std::unique_ptr<Stream> real_;
  };
  Result<std::unique_ptr<device::Stream>> make_stream(std::int32_t device) override {
    auto real = EmulatedDriver::make_stream(device);
    return std::unique_ptr<device::Stream>(std::make_unique<Unmarked>(std::move(*real)));
  }
  Result<std::unique_ptr<device::Event>> make_event(std::int32_t) override {
    return std::unique_ptr<device::Event>(std::make_unique<Reached>());
  }
};

TEST(DeviceCalls, AreSeenToBeWrongWhenNobodyWaitsForACopy) {
  for (const std::int64_t count : {1, 200003}) {
    ThreadJob job(2);
    DeviceJob device;
    device.give_devices<ImpatientDriver>(job);
    EXPECT_NE(device.run(job, {{{count, Element::int32, Operation::sum, Place::same}, 1, 0, 0}}), "") << count;
  }
}

/// As if no call asked for the kind of its buffers.
struct IncuriousDriver : device::EmulatedDriver {
  using EmulatedDriver::EmulatedDriver;
  Result<device::Memory> memory_of(const void*) override { return device::Memory{}; }
};

TEST(DeviceCallsDeathTest, DieWhenTheHostTouchesADeviceBuffer) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ThreadJob job(2);
        DeviceJob device;
        device.give_devices<IncuriousDriver>(job);
        (void)device.run(job, {{{1, Element::int32, Operation::sum, Place::same}, 1, 0, 0}});
      },
      "");
}

} // namespace
} // namespace strata::comm
