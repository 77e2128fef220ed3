// SPDX-License-Identifier: BSD-3-Clause
// Calls that stay in device memory, over slots that the ranks map from each other.
#include "peer_calls.h"

namespace strata::comm {
namespace {

TEST(PeerCalls, AreRightForAnyMixtureOfMemoryKinds) {
  for (const int ranks : {2, 3, 4, 5, 6}) {
    const Seen seen = seen_by(with_algorithm("direct"), ranks, shown(mixtures({1, 7, 1000, 30011, 200003})));
    EXPECT_EQ(seen.faults, "") << ranks;
    EXPECT_GT(seen.rows.at("peer").calls, 0u) << ranks;
    EXPECT_FALSE(seen.rows.contains("staged")) << ranks;
  }
}

TEST(PeerCalls, AreRightInSlicesOfEveryAlgorithm) {
  for (const char* algorithm : {"direct", "ring", "recursive_halving", "binomial", "direct.exchange"})
    for (const int ranks : {2, 3, 5}) {
      const Seen seen = seen_by(with_algorithm(algorithm, 4096, 4), ranks, shown(mixtures({5, 3000, 50001})));
      EXPECT_EQ(seen.faults, "") << algorithm << ' ' << ranks;
      EXPECT_GT(seen.rows.at("peer").bytes, 0u) << algorithm << ' ' << ranks;
    }
}

TEST(PeerCalls, AreRightForAllTypesAndOperations) {
  std::vector<DeviceCall> calls;
  vectors::for_each_kind([&](Element element, Operation operation) {
    for (const bool all : {true, false}) {
      calls.push_back({{9001, element, operation, Place::same}, 2, static_cast<unsigned>(calls.size()), 1});
      calls.back().all_on_device = all;
    }
  });
  const Seen seen = seen_by(with_algorithm("direct"), 3, calls);
  EXPECT_EQ(seen.faults, "");
  EXPECT_GT(seen.rows.at("peer").calls, 0u);
  EXPECT_FALSE(seen.rows.contains("staged"));
}

TEST(PeerCalls, AreRightWhenSomeAlgorithmsStageAndOthersDoNot) {
  const Seen seen = seen_by(ThreadJob::options_for_tests(), 3, mixtures({1, 1000, 200003}));
  EXPECT_EQ(seen.faults, "");
}

TEST(PeerCalls, PutEveryPayloadIntoASlotOnce) {
  constexpr unsigned calls = 5, ranks = 4;
  constexpr std::int64_t count = 40000;
  const std::vector<DeviceCall> all(calls, on_device(count, Place::same));
  const Seen seen = seen_by(with_algorithm("direct", 65536), ranks, all);
  EXPECT_EQ(seen.faults, "");
  EXPECT_EQ(seen.rows.at("peer").calls, calls * ranks);
  // Reduce-scatter: 3/4 of the vector from each rank; all-gather: 1/4, once for all readers.
  EXPECT_EQ(seen.rows.at("peer").bytes, calls * ranks * count * sizeof(float));
  EXPECT_EQ(seen.rows.size(), 1u) << "nothing is staged";
}

TEST(PeerCalls, ReachOtherDevicesOfTheMachine) {
  std::vector<DeviceCall> calls = shown(mixtures({7, 50000}));
  calls.push_back(on_device(50000, Place::apart)); // input on the first device, output on the second
  const Seen seen = seen_by(with_algorithm("direct"), 2, calls, "devices=2");
  EXPECT_EQ(seen.faults, "");
  EXPECT_GT(seen.rows.at("peer").calls, 0u);
}

// What comes from a pool, or is mapped virtually, is for the devices that the program gave access to it.
TEST(PeerCalls, AreStagedWhereABufferIsInAPoolOfAnotherDevice) {
  const std::vector<DeviceCall> calls{on_device(50000, Place::same), on_device(50000, Place::apart),
                                      on_device(50000, Place::same)}; // apart: on two devices, the slots' and another
  const Seen seen = seen_by(with_algorithm("direct"), 2, calls, "devices=2,pools");
  EXPECT_EQ(seen.faults, "");
  EXPECT_EQ(seen.rows.at("peer").calls, 2u * 2);
  EXPECT_EQ(seen.rows.at("staged").calls, 2u);
  const Seen others = seen_by(with_algorithm("direct"), 2, calls, "devices=2");
  EXPECT_EQ(others.faults, "");
  EXPECT_EQ(others.rows.at("peer").calls, 2u * 3);
  for (const char* algorithm : {"direct", "board"})
    EXPECT_EQ(seen_by(with_algorithm(algorithm), 2, mixtures({7, 50000}), "devices=2,pools").faults, "") << algorithm;
}

TEST(PeerCalls, AreStagedWhereSlotsCannotBeHad) {
  for (const char* faults : {"fail-allocation", "deny-ipc", "deny-open"}) {
    const Seen seen = seen_by(with_algorithm("direct"), 3, mixtures({5, 50000}), faults);
    EXPECT_EQ(seen.faults, "") << faults;
    EXPECT_FALSE(seen.rows.contains("peer")) << faults;
    EXPECT_GT(seen.rows.at("staged").calls, 0u) << faults;
  }
}

TEST(PeerCalls, TakeNothingOfADeviceThatTheRankHasNoBufferOn) {
  ThreadJob job(2, with_algorithm("direct"));
  DeviceJob device;
  device.give_devices<SharingDriver>(job);
  const DeviceCall call{{50000, Element::float32, Operation::sum, Place::same}, 1, 0, 0};
  EXPECT_EQ(device.run(job, {call, call}), ""); // rank 0 in device memory, rank 1 in the host's
  EXPECT_EQ(job.process(1).device()->memory().taken(), 0u);
  EXPECT_EQ(job.process(0).device()->tallies().at("staged").calls, 2u);
}

TEST(PeerCalls, AreStagedWhenTheyAreSwitchedOff) {
  Options options = with_algorithm("direct");
  options.device_peer = DevicePeer::off;
  const Seen seen = seen_by(options, 3, {on_device(50000, Place::same)});
  EXPECT_EQ(seen.faults, "");
  EXPECT_FALSE(seen.rows.contains("peer"));
  EXPECT_EQ(seen.rows.at("staged").calls, 3u);
}

TEST(PeerCalls, AreStagedBeyondTheBoundOfDeviceMemory) {
  Options options = with_algorithm("direct", 262144, 8);
  options.device_memory = std::uint64_t{1} << 20;
  const Seen seen = seen_by(options, 2, {on_device(500000, Place::same)});
  EXPECT_EQ(seen.faults, "");
  EXPECT_FALSE(seen.rows.contains("peer"));
}

// ---- trouble, of all ranks or of some ----------------------------------------------------------------------------

/// Only ranks with an even number can map what others exported.
struct HalfBlindDriver : DriverOfRank {
  using DriverOfRank::DriverOfRank;
  Result<void*> open_exported(const std::string& exported, std::int32_t device) override {
    if (is_odd()) return Error{ErrorKind::unsupported, "blind"};
    return DriverOfRank::open_exported(exported, device);
  }
};

TEST(PeerCalls, AreRightWhenOnlySomeRanksCanMapTheOthersMemory) {
  for (const char* algorithm : {"direct", "ring", "binomial"}) {
    const Seen seen = seen_by<HalfBlindDriver>(with_algorithm(algorithm, 16384, 3), 4, shown(mixtures({5, 50000})));
    EXPECT_EQ(seen.faults, "") << algorithm;
  }
}

/// Ranks with an odd number get no device memory.
struct HalfEmptyDriver : DriverOfRank {
  using DriverOfRank::DriverOfRank;
  Result<void*> allocate(std::int32_t device, std::size_t bytes) override {
    if (is_odd()) return Error{ErrorKind::resource, "empty"};
    return DriverOfRank::allocate(device, bytes);
  }
};

/// Ranks with an odd number have memory that nobody else may map.
struct HalfClosedDriver : DriverOfRank {
  using DriverOfRank::DriverOfRank;
  Result<std::string> export_memory(void* memory) override {
    if (is_odd()) return Error{ErrorKind::unsupported, "closed"};
    return DriverOfRank::export_memory(memory);
  }
};

/// Ranks 1 and 3 of four have no slots.
template <typename Driver>
void expect_that_the_others_have_slots() {
  for (const char* algorithm : {"direct", "ring", "binomial"}) {
    const Seen seen = seen_by<Driver>(with_algorithm(algorithm, 16384, 3), 4, shown(mixtures({5, 50000})));
    EXPECT_EQ(seen.faults, "") << algorithm;
  }
  constexpr unsigned calls = 3;
  constexpr std::int64_t count = 40000;
  const std::vector<DeviceCall> all(calls, on_device(count, Place::same));
  const Seen seen = seen_by<Driver>(with_algorithm("direct", std::uint64_t{1} << 20), 4, all);
  EXPECT_EQ(seen.faults, "");
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}}) {
    const Rows& rows = seen.by_rank[rank];
    ASSERT_TRUE(rows.contains("peer")) << rank;
    EXPECT_EQ(rows.at("peer").calls, calls) << rank;
    // The chunk that the other of the two reduces; what all others read goes through the host.
    EXPECT_EQ(rows.at("peer").bytes, calls * count / 4 * sizeof(float)) << rank;
    EXPECT_FALSE(rows.contains("staged")) << rank;
  }
  for (const std::size_t rank : {std::size_t{1}, std::size_t{3}}) {
    const Rows& rows = seen.by_rank[rank];
    EXPECT_FALSE(rows.contains("peer")) << rank;
    ASSERT_TRUE(rows.contains("staged")) << rank;
    EXPECT_EQ(rows.at("staged").calls, calls) << rank;
  }
}

TEST(PeerCalls, StayOnTheDevicesOfRanksThatHaveMemoryThere) { expect_that_the_others_have_slots<HalfEmptyDriver>(); }
TEST(PeerCalls, StayOnTheDevicesOfRanksThatExportTheirMemory) { expect_that_the_others_have_slots<HalfClosedDriver>(); }

/// Rank 1 can put nothing but copies into its queues, as where its driver is older than what the kernels were made by.
struct OneWithoutKernels : DriverOfRank {
  using DriverOfRank::DriverOfRank;
  struct WithoutKernels : device::PassingStream {
    using PassingStream::PassingStream;
    Status reduce(Element element, Operation operation, void* to, std::span<const void* const> from,
                  std::size_t count) override {
      if (from.size() > 1) return Error{ErrorKind::unsupported, "no kernels"};
      return real->reduce(element, operation, to, from, count);
    }
  };
  Result<std::unique_ptr<device::Stream>> make_stream(std::int32_t device) override {
    auto stream = DriverOfRank::make_stream(device);
    if (rank != 1 || !stream) return stream;
    return std::unique_ptr<device::Stream>(std::make_unique<WithoutKernels>(std::move(*stream)));
  }
};

TEST(PeerCalls, AreRightWhenOneRankHasNoKernels) {
  for (const char* algorithm : {"direct", "ring", "binomial"}) {
    const Seen seen = seen_by<OneWithoutKernels>(with_algorithm(algorithm, 16384, 3), 4, shown(mixtures({5, 50000})));
    EXPECT_EQ(seen.faults, "") << algorithm;
    for (std::size_t rank = 0; rank < seen.by_rank.size(); ++rank)
      EXPECT_EQ(seen.by_rank[rank].contains("peer"), rank != 1) << algorithm << ", rank " << rank;
  }
  constexpr unsigned calls = 3;
  const Seen seen = seen_by<OneWithoutKernels>(with_algorithm("direct"), 4,
                                               std::vector<DeviceCall>(calls, on_device(40000, Place::same)));
  EXPECT_EQ(seen.faults, "");
  // It reads the slots of the others, which read what it sends from the host's memory.
  EXPECT_EQ(seen.rows.at("peer").calls, 3 * calls);
  EXPECT_EQ(seen.rows.at("peer").bytes, 3 * calls * 40000 * sizeof(float));
  EXPECT_EQ(seen.by_rank[1].at("staged").calls, calls);
}

TEST(PeerCalls, EndWhenTheDeviceIsLost) {
  Options options = with_algorithm("direct", 32768);
  options.hang_seconds = 0;
  const Seen seen = seen_by(options, 2, std::vector<DeviceCall>(2, on_device(60000, Place::same)), "lost-after=3");
  EXPECT_NE(seen.faults.find("cannot copy a buffer from or to device memory in call 1 "), std::string::npos)
      << seen.faults;
}

// ---- what they take -----------------------------------------------------------------------------------------------

TEST(PeerCalls, FreeTheirSlotsWithTheirContext) {
  ThreadJob job(3, with_algorithm("direct"));
  DeviceJob device;
  device.give_devices<SharingDriver>(job);
  EXPECT_EQ(device.run(job, {on_device(50000, Place::same)}), "");
  EXPECT_EQ(device.run(job, {}), ""); // what the first contexts left is looked at again
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(job.process(rank).device()->memory().taken(), 0u) << rank;
}

TEST(PeerCalls, AllocateNothingOnTheDeviceWhenTheyAreRepeated) {
  struct Counting : SharingDriver {
    using SharingDriver::SharingDriver;
    std::atomic<int> made{0};
    Result<void*> allocate(std::int32_t device, std::size_t bytes) override {
      ++made;
      return SharingDriver::allocate(device, bytes);
    }
    Result<std::unique_ptr<device::Event>> make_event(std::int32_t device) override {
      ++made;
      return SharingDriver::make_event(device);
    }
  };
  const auto made_by = [](std::size_t calls) {
    ThreadJob job(2, with_algorithm("direct"));
    DeviceJob device;
    device.give_devices<Counting>(job);
    EXPECT_EQ(device.run(job, std::vector<DeviceCall>(calls, on_device(50000, Place::same))), "");
    return static_cast<Counting&>(job.process(0).device()->driver()).made.load();
  };
  EXPECT_EQ(made_by(1), made_by(6));
}

TEST(PeerCalls, AskOncePerBuffer) {
  ThreadJob job(2, with_algorithm("direct"));
  expect_one_question_per_buffer<SharingDriver>(job, on_device(50000, Place::same), on_device(50000, Place::apart));
  EXPECT_EQ(job.process(0).device()->tallies().at("peer").calls, 7u);
}

// ---- flags --------------------------------------------------------------------------------------------------------

struct CountingWaits : device::PassingStream {
  using PassingStream::PassingStream;
  Status wait_for_word(const std::uint32_t* word, std::uint32_t value) override {
    ++waits;
    return real->wait_for_word(word, value);
  }
  static inline std::atomic<int> waits{0};
};

/// The first device sets no words of others.
struct DumbStream : CountingWaits {
  DumbStream(std::unique_ptr<device::Stream> behind, std::shared_ptr<Accelerator> of)
      : CountingWaits(std::move(behind)), accelerator(std::move(of)) {}
  Status set_word(std::uint32_t* word, std::uint32_t value) override {
    return accelerator->memory.find(word).device != 0 ? ok() : real->set_word(word, value);
  }
  std::shared_ptr<Accelerator> accelerator;
};
struct OneIsDumb : device::DriverWithStreams<CountingWaits> {
  explicit OneIsDumb(const std::shared_ptr<Accelerator>& of) : DriverWithStreams(of), accelerator(of) {}
  Result<std::unique_ptr<device::Stream>> make_stream(std::int32_t device) override {
    if (device != 0) return DriverWithStreams::make_stream(device);
    auto real = SharingDriver::make_stream(device);
    return std::unique_ptr<device::Stream>(std::make_unique<DumbStream>(std::move(*real), accelerator));
  }
  std::shared_ptr<Accelerator> accelerator;
};

/// Of all ranks, for flags in the second of two calls by rings, on as many devices.
template <typename Driver = device::DriverWithStreams<CountingWaits>>
int waits_of_a_call(DevicePeer peer, int devices, const char* more_faults = "") {
  constexpr int ranks = 4;
  constexpr std::int64_t count = 4000;
  Options options = with_algorithm("ring");
  options.device_peer = peer;
  ThreadJob job(ranks, options);
  DeviceJob device;
  device.accelerator->faults = *device::parse_faults(fmt::format("devices={}{}", devices, more_faults));
  device.give_devices<Driver>(job);
  Faults faults(ranks);
  std::atomic<int> before{0};
  job.run_in_context([&](Context& context) {
    for (unsigned salt = 1; salt < 3; ++salt) {
      const auto mine = vectors::contribution(Element::int32, Operation::sum, context.rank(), count, salt);
      KindOfMemory vector(*device.accelerator, Kind::device, context.rank() % devices, mine.size(), 0);
      std::memcpy(vector.reach(mine.size()), mine.data(), mine.size());
      const Call call{vector.pointer(), vector.pointer(), count, Element::int32, Operation::sum};
      if (salt == 2 && context.rank() == 0) before = CountingWaits::waits.load();
      if (context.all_reduce(call) != Outcome::done) faults.add(context, "not done: " + context.trouble());
      const auto wanted = vectors::reduction(Element::int32, Operation::sum, ranks, count, salt);
      faults.add(context, vectors::difference(wanted, vector.reach(mine.size()), sizeof(std::int32_t)));
    }
  });
  EXPECT_EQ(faults.text(), "");
  return CountingWaits::waits - before;
}

TEST(PeerCalls, WaitForFlagsWhereEachRankHasADevice) {
  EXPECT_GT(waits_of_a_call(DevicePeer::automatic, 4), 0);
  EXPECT_EQ(waits_of_a_call(DevicePeer::automatic, 2), 0) << "two ranks are on each device";
  EXPECT_EQ(waits_of_a_call(DevicePeer::hosts, 4), 0);
  EXPECT_EQ(waits_of_a_call(DevicePeer::automatic, 4, ",no-words"), 0) << "these devices cannot";
  EXPECT_EQ(waits_of_a_call(DevicePeer::automatic, 4, ",blind-words"), 0) << "nor do these see what others write";
  EXPECT_EQ(waits_of_a_call(DevicePeer::automatic, 4, ",refuse-words"), 0) << "or may write it";
}

TEST(PeerCalls, WaitForFlagsBesideARankThatSeesNone) {
  const int all = waits_of_a_call(DevicePeer::automatic, 4);
  const int without_one = waits_of_a_call<OneIsDumb>(DevicePeer::automatic, 4);
  EXPECT_GT(without_one, 0);
  EXPECT_LT(without_one, all) << "the next rank in the ring waits for its host";
}

// ---- mutations: what if strata forgot something? ------------------------------------------------------------------

TEST(PeerCalls, AreSeenToBeWrongWhenNobodyWaitsForTheQueue) {
  const Seen seen =
      seen_by<device::ImpatientSharingDriver>(with_algorithm("direct"), 2, {on_device(50000, Place::same)});
  EXPECT_NE(seen.faults, "");
  EXPECT_EQ(seen.rows.at("peer").calls, 2u);
}

/// Calls of two floats until a trial has ended, by path.
Rows rows_of_small_calls(DevicePeer peer) {
  Options options = ThreadJob::options_for_tests();
  options.device_peer = peer;
  const Seen seen = seen_by(options, 2, std::vector<DeviceCall>(60, on_device(2, Place::same)));
  EXPECT_EQ(seen.faults, "");
  return seen.rows;
}

// By prediction the latency path is far ahead, but it is in the host's memory.
TEST(PeerCalls, OfSmallVectorsAreTriedOnTheDeviceToo) {
  Rows rows = rows_of_small_calls(DevicePeer::automatic);
  EXPECT_GT(rows["peer"].calls, 0U);
  EXPECT_GT(rows["staged"].calls, 0U);
  rows = rows_of_small_calls(DevicePeer::off);
  EXPECT_EQ(rows["peer"].calls, 0U);
}

// Each rank reads all vectors, and nobody waits a second time.
TEST(PeerCalls, OfSmallVectorsAreTriedInOneShot) {
  ThreadJob job(2);
  DeviceJob device;
  device.give_devices<SharingDriver>(job);
  job.run_in_context([&](Context& context) {
    for (unsigned salt = 1; salt < 60; ++salt)
      EXPECT_EQ(fault_of(context, *device.accelerator, on_device(2, Place::same, salt)), "");
    const auto& tried = context.statistics().by_algorithm;
    EXPECT_TRUE(std::any_of(tried.begin(), tried.end(),
                            [](const auto& row) { return row.first.find(".exchange") != std::string::npos; }));
  });
}

TEST(PeerCalls, OfSmallVectorsInTheHostsMemoryAreNotTriedInASchedule) {
  ThreadJob job(2);
  DeviceJob device;
  device.give_devices<SharingDriver>(job);
  job.run_in_context([&](Context& context) {
    for (unsigned salt = 1; salt < 60; ++salt)
      (void)comm::fault_of(context, {2, Element::float32, Operation::sum, Place::same}, salt);
    for (const auto& [name, tally] : context.statistics().by_algorithm)
      EXPECT_EQ(name, "board");
  });
}

} // namespace
} // namespace strata::comm
