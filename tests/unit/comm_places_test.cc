// SPDX-License-Identifier: BSD-3-Clause
// What changes in a context when its ranks pass buffers in device memory: levels, slices, and what was decided before.
#include "delaying_transport.h"
#include "device_calls.h"
#include "machines_bootstrap.h"
#include "sharing_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace strata::comm {
namespace {

using Levels = std::vector<std::string>;

/// What a rank's vectors of a call are in; the others are in the host's memory.
using OnDevice = bool (*)(int rank, int call);

/// A sum of floats, whose vectors are on the rank's device or in the host's memory; the ranks take the devices in turn.
std::string fault_there(Context& context, Accelerator& accelerator, std::int64_t count, bool on_device) {
  const DeviceCall call{{count, Element::float32, Operation::sum, Place::apart}};
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  const Kind kind = on_device ? Kind::device : Kind::host;
  const std::int32_t own = context.rank() % accelerator.faults.devices;
  KindOfMemory send(accelerator, kind, own, bytes, 0), receive(accelerator, kind, own, bytes, 0);
  return fault_with(context, send, receive, call);
}

struct PlacesSeen {
  Levels levels; ///< of rank 0, after the last call
  std::string faults;
  std::map<std::string, Tally> calls;
};

/// Calls of a few sizes in a context of four ranks, who take the devices in turn.
PlacesSeen seen_in_calls(const Options& options, const char* accelerator, OnDevice on_device, int sizes = 4,
                         int calls_of_a_size = 1) {
  constexpr int ranks = 4;
  ThreadJob job(ranks, options);
  DeviceJob device;
  device.accelerator->faults = *device::parse_faults(accelerator);
  device.give_devices<device::SharingDriver>(job);
  Faults faults(ranks);
  PlacesSeen seen;
  job.run_in_context([&](Context& context) {
    for (int number = 0; number < sizes * calls_of_a_size; ++number)
      faults.add(context, fault_there(context, *device.accelerator, 20000 + 10000 * (number % sizes),
                                      on_device(context.rank(), number)));
    if (context.rank() != 0) return;
    for (const topo::Level& level : context.hierarchy().levels)
      seen.levels.push_back(level.name);
    seen.calls = context.statistics().by_algorithm;
  });
  seen.faults = faults.text();
  return seen;
}

bool always(int, int) { return true; }
bool never(int, int) { return false; }
bool not_rank_2(int rank, int) { return rank != 2; }
bool from_the_third_call(int, int call) { return call >= 2; }

TEST(DeviceLevelsOfAContext, AreFollowedWhenAllRanksWorkWithDevices) {
  const PlacesSeen seen = seen_in_calls(ThreadJob::options_for_tests(), "devices=2", always);
  EXPECT_EQ(seen.faults, "");
  EXPECT_EQ(seen.levels, (Levels{"device", "node"}));
}

TEST(DeviceLevelsOfAContext, AreThoseOfDirectLinks) {
  const PlacesSeen seen = seen_in_calls(ThreadJob::options_for_tests(), "devices=4,link=0-2,link=1-3", always);
  EXPECT_EQ(seen.faults, "");
  EXPECT_EQ(seen.levels, (Levels{"nvlink", "node"}));
  EXPECT_EQ(seen_in_calls(ThreadJob::options_for_tests(), "devices=4", always).levels, Levels{"node"});
}

TEST(DeviceLevelsOfAContext, LeaveThoseOfTheCoresToBeTriedAsWell) {
  const PlacesSeen seen = seen_in_calls(ThreadJob::options_for_tests(), "devices=2", always, 1, 60);
  EXPECT_EQ(seen.faults, "");
  bool over_devices = false, over_cores = false;
  for (const auto& [name, tally] : seen.calls) {
    over_devices |= name.find('+') != std::string::npos;
    over_cores |= name.find(" over cores") != std::string::npos;
  }
  EXPECT_TRUE(over_devices);
  EXPECT_TRUE(over_cores);
}

TEST(DeviceLevelsOfAContext, AreNotFollowedWhereARankHasNone) {
  for (const OnDevice on_device : {never, not_rank_2}) {
    const PlacesSeen seen = seen_in_calls(ThreadJob::options_for_tests(), "devices=2", on_device);
    EXPECT_EQ(seen.faults, "");
    EXPECT_EQ(seen.levels, Levels{"node"});
  }
}

TEST(DeviceLevelsOfAContext, AreFollowedLaterToo) {
  const PlacesSeen seen = seen_in_calls(ThreadJob::options_for_tests(), "devices=2", from_the_third_call);
  EXPECT_EQ(seen.faults, "");
  EXPECT_EQ(seen.levels, (Levels{"device", "node"}));
  std::uint64_t calls = 0;
  for (const auto& [name, tally] : seen.calls)
    calls += tally.calls;
  EXPECT_EQ(calls, 4u) << "what ran before is counted as well";
}

TEST(DeviceLevelsOfAContext, GiveWayToWhatIsSetByHand) {
  const auto levels_with = [](auto set) {
    Options options = ThreadJob::options_for_tests();
    set(options);
    const PlacesSeen seen = seen_in_calls(options, "devices=2", always);
    EXPECT_EQ(seen.faults, "");
    return seen.levels;
  };
  EXPECT_EQ(levels_with([](Options& options) { options.levels = "4"; }).size(), 1u);
  EXPECT_EQ(levels_with([](Options& options) { options.algorithm = "ring"; }), Levels{"node"});
  EXPECT_EQ(levels_with([](Options& options) { options.device_peer = DevicePeer::off; }), Levels{"node"});
  EXPECT_EQ(levels_with([](Options& options) { options.reproducible = true; }), Levels{"all"});
}

TEST(DeviceLevelsOfAContext, AreAskedForOnce) {
  struct Asked : device::SharingDriver {
    using SharingDriver::SharingDriver;
    std::vector<std::string> linked_to(std::int32_t device) override {
      ++questions;
      return SharingDriver::linked_to(device);
    }
    std::atomic<int> questions{0};
  };
  ThreadJob job(2, ThreadJob::options_for_tests());
  DeviceJob device;
  device.give_devices<Asked>(job);
  for (int context = 0; context < 2; ++context) {
    DeviceCall call{{30000, Element::float32, Operation::sum, Place::apart}};
    call.all_on_device = true;
    EXPECT_EQ(device.run(job, {call, call}), "");
  }
  EXPECT_EQ(static_cast<Asked&>(job.process(0).device()->driver()).questions, 1);
}

// ---- slices ---------------------------------------------------------------------------------------------------------

TEST(LongSlices, AreTriedForVectorsOnDevices) {
  const auto names = [](OnDevice on_device) {
    constexpr int ranks = 2;
    ThreadJob job(ranks, ThreadJob::options_for_tests());
    DeviceJob device;
    device.give_devices<device::SharingDriver>(job);
    Faults faults(ranks);
    std::string all;
    job.run_in_context([&](Context& context) {
      for (int number = 0; number < 60; ++number)
        faults.add(context, fault_there(context, *device.accelerator, 1 << 18, on_device(context.rank(), number)));
      if (context.rank() != 0) return;
      for (const auto& [name, tally] : context.statistics().by_algorithm)
        all += name + "\n";
    });
    EXPECT_EQ(faults.text(), "");
    return all;
  };
  const std::string on_devices = names(always), on_hosts = names(never);
  EXPECT_NE(on_devices.find("slice 512K window 2"), std::string::npos) << on_devices;
  EXPECT_EQ(on_hosts.find("slice 512K"), std::string::npos) << on_hosts;
}

TEST(LongSlices, GiveWayToOthersWhereTheyDoNotFit) {
  const auto paths = [](std::uint64_t segment) {
    Options options = ThreadJob::options_for_tests();
    options.tune = Tune::model;
    options.segment = segment;
    ThreadJob job(2, options);
    DeviceJob device;
    device.give_devices<device::SharingDriver>(job);
    DeviceCall call{{1 << 20, Element::float32, Operation::sum, Place::apart}};
    call.all_on_device = true;
    EXPECT_EQ(device.run(job, {call}), "");
    const auto& run = job.process(0).statistics().by_algorithm;
    EXPECT_EQ(run.size(), 1u);
    EXPECT_EQ(job.process(0).device()->tallies().at("peer").calls, 1u);
    return run.empty() ? "" : run.begin()->first;
  };
  EXPECT_NE(paths(24 << 20).find("slice 2M window 2"), std::string::npos) << paths(24 << 20);
  EXPECT_NE(paths(2 << 20).find("K window"), std::string::npos) << paths(2 << 20);
}

/// Of one way.
std::size_t most_depths(const Context& context) {
  std::map<std::string, std::set<std::string>> depths; // by composition and slice
  for (const auto& [name, tally] : context.statistics().by_algorithm)
    if (const std::size_t window = name.find(" window "); window != std::string::npos && tally.calls > 0)
      depths[name.substr(0, window)].insert(name.substr(window));
  std::size_t most = 0;
  for (const auto& [way, windows] : depths)
    most = std::max(most, windows.size());
  return most;
}

/// How many depths of one way four ranks try on two machines, where schedules are all there is: until they are as many
/// as there should be, or the calls too many.
std::size_t most_depths_tried(Options options, OnDevice on_device, std::size_t should_be, int most_calls) {
  constexpr int ranks = 4;
  options.trial = 100;
  options.slice = std::uint64_t{32} << 10;
  options.transports = "loop,delaying";
  options.probe = 0;
  delaying::Office office(1);
  const auto make = [&](const Options&, Device*) -> Result<std::unique_ptr<transport::Transport>> {
    return std::unique_ptr<transport::Transport>(std::make_unique<delaying::Transport>(office));
  };
  ThreadJob job(ranks, options, {{"delaying", make}});
  DeviceJob device;
  device.give_devices<device::SharingDriver>(job);
  Faults faults(ranks);
  std::size_t depths = 0;
  job.run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
    auto context = Context::create(job.process(rank), std::make_unique<MachinesBootstrap>(job, meeting, rank));
    ASSERT_TRUE(context) << context.error().message;
    // All ranks count the same.
    for (int number = 0; number < most_calls && most_depths(**context) < should_be; ++number)
      faults.add(**context, fault_there(**context, *device.accelerator, 1 << 17, on_device(rank, number)));
    if (rank == 0) depths = most_depths(**context);
  });
  EXPECT_EQ(faults.text(), "");
  EXPECT_EQ(office.complaints(), "");
  return depths;
}

TEST(Depths, OfSlicesInFlightAreTriedForVectorsOnDevices) {
  constexpr std::size_t around_the_winner = 3;
  constexpr int many = 3000, some = 300;
  Options options = ThreadJob::options_for_tests();
  EXPECT_LT(most_depths_tried(options, never, around_the_winner, some), around_the_winner);
  options.device_peer = DevicePeer::off;
  EXPECT_EQ(most_depths_tried(options, always, around_the_winner, many), around_the_winner) << "staged";
  options.window = 2;
  EXPECT_EQ(most_depths_tried(options, always, around_the_winner, some), 1u) << "the user's";
}

// ---- buffers in device memory that come late ----------------------------------------------------------------------

/// Of rank 0, calls of one size by path: after ten of all ranks on the host, the others by `on_device`.
std::map<std::string, Tally> paths_of_late_devices(const Options& options, int calls, OnDevice on_device) {
  constexpr int ranks = 3;
  ThreadJob job(ranks, options);
  DeviceJob device;
  device.give_devices<device::SharingDriver>(job);
  Faults faults(ranks);
  job.run_in_context([&](Context& context) {
    for (int number = 1; number <= calls; ++number)
      faults.add(context,
                 fault_there(context, *device.accelerator, 20000, number > 10 && on_device(context.rank(), number)));
  });
  EXPECT_EQ(faults.text(), "");
  return job.process(0).device()->tallies();
}

TEST(LateDevices, HaveTheirSizesDecidedAnew) {
  for (const char* algorithm : {"direct", "ring"}) {
    Options options = ThreadJob::options_for_tests();
    options.algorithm = algorithm;
    const auto paths = paths_of_late_devices(options, 40, always);
    EXPECT_EQ(paths.at("staged").calls, 5u) << "of calls 11 to 15: the ranks ask each other before the 16th";
    EXPECT_EQ(paths.at("peer").calls, 25u);
  }
}

TEST(LateDevices, MayComeToOneRankAfterTheOther) {
  Options options = ThreadJob::options_for_tests();
  options.algorithm = "direct";
  const auto paths = paths_of_late_devices(options, 40, [](int rank, int call) { return call > 10 + 10 * rank; });
  EXPECT_EQ(paths.at("peer").calls, 9u) << "nobody has a use for rank 0's slots before the others have some";
}

TEST(LateDevices, AreStagedWhereTheyShallNotReachEachOther) {
  Options options = ThreadJob::options_for_tests();
  options.algorithm = "direct";
  options.device_peer = DevicePeer::off;
  EXPECT_EQ(paths_of_late_devices(options, 40, always).at("staged").calls, 30u);
}

// 80000 bytes, in parts as long as nobody knows of devices, and piece by piece from the 16th call on.
TEST(LateDevices, AreStagedWholeWhereOthersExchangeInParts) {
  Options options = ThreadJob::options_for_tests();
  options.algorithm = "board";
  EXPECT_EQ(paths_of_late_devices(options, 40, always).at("staged").calls, 30u);
  EXPECT_EQ(paths_of_late_devices(options, 40, [](int rank, int) { return rank == 0; }).at("staged").calls, 30u);
}

// Ranks of machines without a driver, say.
TEST(LateDevices, ArePossibleOnSomeRanksOnly) {
  constexpr int ranks = 3;
  Options options = ThreadJob::options_for_tests();
  options.algorithm = "direct";
  ThreadJob job(ranks, options);
  const auto accelerator = std::make_shared<Accelerator>();
  accelerator->initialised = true;
  for (int rank = 1; rank < ranks; ++rank)
    job.process(rank).use_device(std::make_unique<device::SharingDriver>(accelerator));
  Faults faults(ranks);
  job.run_in_context([&](Context& context) {
    for (int number = 1; number <= 40; ++number)
      faults.add(context, fault_there(context, *accelerator, 20000, number > 10 && context.rank() > 0));
  });
  EXPECT_EQ(faults.text(), "");
  EXPECT_EQ(job.process(1).device()->tallies().at("peer").calls, 25u) << "two ranks have slots for each other";
}

// Each rank's first buffer there comes in another stretch between two looks, more often than all may be decided anew.
TEST(LateDevices, AreFollowedInTheEndHoweverTheyCome) {
  constexpr int ranks = 7;
  Options options = ThreadJob::options_for_tests();
  options.algorithm = "direct";
  options.segment = std::uint64_t{64} << 20;
  ThreadJob job(ranks, options);
  DeviceJob device;
  device.give_devices<device::SharingDriver>(job);
  Faults faults(ranks);
  job.run_in_context([&](Context& context) {
    for (int number = 1; number <= 1040; ++number)
      faults.add(context, fault_there(context, *device.accelerator, 500, number > 12 << context.rank()));
  });
  EXPECT_EQ(faults.text(), "");
  EXPECT_EQ(job.process(6).device()->tallies().at("peer").calls, 1040u - 1024u + 1)
      << "with the last look, before call 1024";
}

TEST(LateDevices, OfAnotherCommunicatorChangeNothing) {
  constexpr int ranks = 2;
  ThreadJob job(ranks, ThreadJob::options_for_tests());
  DeviceJob device;
  device.accelerator->faults = *device::parse_faults("devices=2");
  device.give_devices<device::SharingDriver>(job);
  DeviceCall there{{20000, Element::float32, Operation::sum, Place::apart}};
  there.all_on_device = true;
  EXPECT_EQ(device.run(job, {there}), "");
  Faults faults(ranks);
  std::string way;
  job.run_in_context([&](Context& context) {
    for (int number = 1; number <= 200; ++number) {
      faults.add(context, fault_of(context, {2, Element::float32, Operation::sum, Place::apart}));
      if (number == 15 && context.rank() == 0) way = context.way_text(8);
    }
    if (context.rank() == 0) {
      EXPECT_EQ(context.way_text(8), way);
    }
  });
  EXPECT_EQ(faults.text(), "");
  EXPECT_NE(way, "") << "it was decided";
}

TEST(LateDevices, AreTriedWhereOthersWereBefore) {
  const Options options = ThreadJob::options_for_tests();
  const auto paths = paths_of_late_devices(options, 70, always);
  EXPECT_GE(paths.at("peer").calls, 1u) << "a schedule on the device is among what is tried";
}

} // namespace
} // namespace strata::comm
