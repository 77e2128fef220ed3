// SPDX-License-Identifier: BSD-3-Clause
// Calls with buffers in the memory of an emulated device, every rank with kinds of memory of its own; and the mutations
// that show what the emulated device catches.
#include "allocations.h"
#include "device_calls.h"
#include "sharing_driver.h"

#include <gtest/gtest.h>

namespace strata::comm {
namespace {

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

// No memory for what a rank needs for its own buffers: the others cannot be told, so none may be left to wait here.
TEST(DeviceCalls, SaySoWithoutMemoryToStageWith) {
  for (const char* algorithm : {"board", "direct"}) {
    Options options = ThreadJob::options_for_tests();
    options.algorithm = algorithm;
    ThreadJob job(2, options);
    DeviceJob device;
    device.give_devices(job);
    Faults faults(2);
    job.run_in_context([&](Context& context) {
      faults.add(context, comm::fault_of(context, {1000})); // sets the size up
      KindOfMemory vector(*device.accelerator, Kind::device, 0, 4000, 0);
      const Call call{vector.pointer(), vector.pointer(), 1000, Element::float32, Operation::sum};
      Outcome outcome = Outcome::done;
      {
        const allocations::Shortage none(0, allocations::Shortage::Lasts::to_its_end);
        outcome = context.all_reduce(call);
      }
      if (outcome != Outcome::peer_lost || context.trouble().empty()) faults.add(context, "nothing was said");
    });
    EXPECT_EQ(faults.text(), "") << algorithm;
  }
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
  ThreadJob job(2);
  expect_one_question_per_buffer<device::EmulatedDriver>(
      job, {{100000, Element::int32, Operation::sum, Place::same}, 1, 0, 0},
      {{100000, Element::int32, Operation::sum, Place::apart}, 1, 0, 0});
}

// ---- memory at an address that was other memory's before --------------------------------------------------------

/// Calls of a rank in memory that is freed behind each, and where the next is in memory of another kind or device.
std::string fault_at_one_address(Context& context, Accelerator& accelerator, std::int64_t count) {
  DeviceCall call{{count, Element::float32, Operation::sum, Place::same}};
  std::string faults;
  std::byte* at = nullptr;
  for (const auto& [kind, number] :
       {std::pair{Kind::device, 0}, std::pair{Kind::managed, 0}, std::pair{Kind::device, 1}}) {
    ++call.salt;
    KindOfMemory vector(accelerator, kind, number, static_cast<std::size_t>(count) * sizeof(float), 0, at);
    if (at != nullptr && vector.pointer() != at) faults += "it is at another address\n";
    at = vector.pointer();
    faults += fault_with(context, vector, vector, call);
  }
  return faults;
}

/// The calls of two ranks by path, and the bytes.
std::string paths_at_one_address(const char* algorithm, DevicePeer peer, std::int64_t count) {
  Options options = ThreadJob::options_for_tests();
  options.algorithm = algorithm;
  options.device_peer = peer;
  ThreadJob job(2, options);
  DeviceJob device;
  device.accelerator->faults.devices = 2;
  device.give_devices<device::SharingDriver>(job);
  Faults faults(2);
  job.run_in_context(
      [&](Context& context) { faults.add(context, fault_at_one_address(context, *device.accelerator, count)); });
  EXPECT_EQ(faults.text(), "");
  std::map<std::string, Tally> by_path;
  for (int rank = 0; rank < 2; ++rank)
    for (const auto& [path, tally] : job.process(rank).device()->tallies())
      by_path[path] += tally;
  std::string paths;
  for (const auto& [path, tally] : by_path)
    paths += fmt::format("{} {} {};", path, tally.calls, tally.bytes);
  return paths;
}

TEST(DeviceCalls, TakeAnAddressForWhatIsThereNow) {
  // Each rank has two calls in device memory, and one in managed memory, which is no call of the device.
  constexpr std::int64_t count = 50000, bytes = count * sizeof(float);
  EXPECT_EQ(paths_at_one_address("direct", DevicePeer::automatic, count), fmt::format("peer 4 {};", 4 * bytes));
  EXPECT_EQ(paths_at_one_address("direct", DevicePeer::off, count), fmt::format("staged 4 {};", 4 * 2 * bytes));
  EXPECT_EQ(paths_at_one_address("board", DevicePeer::automatic, count), fmt::format("staged 4 {};", 4 * 2 * bytes));
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

/// From a question on, whoever asks the device hears that it is lost.
struct DeafDevice : device::EmulatedDriver {
  using device::EmulatedDriver::EmulatedDriver;
  static constexpr int answers = 3;
  int questions = 0;
  Result<device::Memory> memory_of(const void* pointer) override {
    if (++questions > answers) return Error{ErrorKind::peer, "the device is lost"};
    return EmulatedDriver::memory_of(pointer);
  }
};

TEST(DeviceCalls, EndWhenTheDeviceIsLostBeforeItSaysWhereABufferIs) {
  for (const Kind kind : {Kind::device, Kind::host}) {
    ThreadJob job(2);
    DeviceJob device;
    device.give_devices<DeafDevice>(job);
    Faults faults(job.ranks());
    job.run_in_context([&](Context& context) {
      KindOfMemory memory(*device.accelerator, kind, 0, 4000, 0); // a touch by the host would end the process
      for (unsigned salt = 1; salt <= 4; ++salt)
        faults.add(context,
                   fault_with(context, memory, memory, {{1000, Element::int32, Operation::sum, Place::same}, salt}));
    });
    const std::string said = faults.text();
    for (const int rank : {0, 1})
      EXPECT_NE(said.find(fmt::format("rank {} cannot copy a buffer from or to device memory in call 3 ", rank)),
                std::string::npos)
          << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2 * 2) << "the next call ends at once: " << said;
  }
}

// ---- copies of one rank -------------------------------------------------------------------------------------------

/// What is in device memory when copy_anywhere() to it and back has returned, with these faults of the device.
std::string copied_there_and_back(const std::string& faults) {
  const auto accelerator = std::make_shared<Accelerator>();
  accelerator->initialised = true;
  accelerator->faults = *device::parse_faults(faults);
  Device device(std::make_unique<device::EmulatedDriver>(accelerator), std::size_t{1} << 20, std::size_t{1} << 20);
  KindOfMemory memory(*accelerator, Kind::device, 0, 5, 0);
  char text[] = "there", back[] = "-----";
  CallBuffers buffers;
  EXPECT_TRUE(copy_anywhere(&device, buffers, memory.pointer(), text, 5));
  EXPECT_TRUE(copy_anywhere(&device, buffers, back, memory.pointer(), 5));
  return std::string(reinterpret_cast<const char*>(memory.reach(5)), 5) + " " + back;
}

TEST(CopyAnywhere, HasCopiedWhenItReturns) { EXPECT_EQ(copied_there_and_back(""), "there there"); }

// Also where no stream reaches both.
TEST(CopyAnywhere, CopiesBetweenMemoryOfAnyDevices) {
  constexpr std::size_t bytes = (std::size_t{5} << 19) + 12; // more than passes the host at once
  for (const char* faults : {"devices=2", "devices=2,pools"}) {
    DeviceJob job;
    job.accelerator->faults = *device::parse_faults(faults);
    job.accelerator->initialised = true;
    CallBuffers buffers;
    Device device(std::make_unique<device::EmulatedDriver>(job.accelerator), std::size_t{1} << 20,
                  std::size_t{1} << 20);
    for (const auto& [from, to] :
         std::vector<std::pair<int, int>>{{-1, 0}, {0, -1}, {0, 0}, {0, 1}, {1, 0}, {-1, -1}}) {
      const auto on = [&](int number) {
        return std::make_unique<KindOfMemory>(*job.accelerator, number < 0 ? Kind::host : Kind::device, number, bytes,
                                              0);
      };
      const auto source = on(from), target = on(to);
      std::byte* const begin = from < 0 ? source->pointer() : source->reach(bytes);
      for (std::size_t i = 0; i < bytes; ++i)
        begin[i] = static_cast<std::byte>(i * 31 % 251);
      const Status copied = copy_anywhere(&device, buffers, target->pointer(), source->pointer(), bytes);
      ASSERT_TRUE(copied) << faults << ", " << from << " to " << to << ": " << copied.error().message;
      EXPECT_EQ(std::memcmp(begin, to < 0 ? target->pointer() : target->reach(bytes), bytes), 0)
          << faults << ", " << from << " to " << to;
    }
  }
}

TEST(CopyAnywhere, IsSeenToBeWrongWhenItDoesNotWait) {
  EXPECT_EQ(copied_there_and_back("hasty").find("there"), std::string::npos);
}

// ---- mutations: what if strata forgot something? ------------------------------------------------------------------

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
