// SPDX-License-Identifier: BSD-3-Clause
// Calls in device memory where there is too little memory for all that they would like: of the device, or of the host.
#include "delaying_transport.h"
#include "machines_bootstrap.h"
#include "peer_calls.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata::comm {
namespace {

struct MachinesRun {
  std::string faults;
  Rows rows;                ///< of all ranks
  std::size_t taken = 0;    ///< bytes of device memory of rank 0, at most
  std::ptrdiff_t lines = 0; ///< that say why peers' memory is not used
};

std::ptrdiff_t lines_of_trouble(const std::string& log, const std::string& why) {
  std::ptrdiff_t lines = 0;
  for (std::size_t begin = 0, end = 0; (end = log.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = log.substr(begin, end - begin);
    lines += line.find("does not reduce in device memory") != std::string::npos && line.find(why) != std::string::npos;
  }
  return lines;
}

/// Two calls of four ranks on two machines, whose messages between them can go straight from and to device memory.
MachinesRun run_on_machines(const Options& options, const char* faults_of_device = "",
                            const std::string& why = "(STRATA_DEVICE_MEMORY)") {
  delaying::Office office(1);
  office.least_straight = 64;
  const auto make = [&](const Options&, Device*) -> Result<std::unique_ptr<transport::Transport>> {
    return std::unique_ptr<transport::Transport>(std::make_unique<delaying::Transport>(office));
  };
  constexpr int ranks = 4;
  ThreadJob job(ranks, options, {{"delaying", make}});
  DeviceJob device;
  device.accelerator->faults = *device::parse_faults(faults_of_device);
  device.give_devices<SharingDriver>(job);
  Faults faults(ranks);
  testing::internal::CaptureStderr();
  job.run([&](int rank, const std::shared_ptr<Meeting>& meeting) {
    auto context = Context::create(job.process(rank), std::make_unique<MachinesBootstrap>(job, meeting, rank));
    ASSERT_TRUE(context) << context.error().message;
    if ((*context)->nodes() != 2) faults.add(**context, "these are not two machines\n");
    for (unsigned salt = 1; salt < 3; ++salt)
      faults.add(**context, fault_of(**context, *device.accelerator, on_device(300000, Place::same, salt)));
  });
  MachinesRun run;
  run.lines = lines_of_trouble(testing::internal::GetCapturedStderr(), why);
  run.faults = faults.text() + office.complaints();
  run.taken = job.process(0).device()->memory().most_taken();
  for (int rank = 0; rank < ranks; ++rank)
    for (const auto& [path, tally] : job.process(rank).device()->tallies())
      run.rows[path] += tally;
  return run;
}

Options of_two_machines() {
  Options options = with_algorithm("direct+direct", std::uint64_t{1} << 20, 4);
  options.levels = "2x2";
  options.transports = "loop,delaying";
  options.probe = 0;
  options.log_choice = true;
  return options;
}

// Peers of the node cannot map it, but a network does not ask for that.
TEST(PeerCalls, GoStraightToOtherNodesWhereMemoryCannotBeExported) {
  for (const char* fault : {"deny-ipc", "deny-open"}) {
    const MachinesRun run = run_on_machines(of_two_machines(), fault, "is denied");
    EXPECT_EQ(run.faults, "") << fault;
    EXPECT_EQ(run.lines, 4) << fault << ": one of each rank";
    ASSERT_TRUE(run.rows.contains("GPUDirect")) << fault;
    EXPECT_EQ(run.rows.at("GPUDirect").calls, 8u) << fault;
    EXPECT_FALSE(run.rows.contains("staged")) << fault;
    EXPECT_EQ(run.rows.at("peer").bytes, 0u) << fault << ": nothing is put into slots for peers";
  }
}

TEST(PeerCalls, DoWithoutLandingsWhereDeviceMemoryIsShort) {
  Options options = of_two_machines();
  const MachinesRun ample = run_on_machines(options);
  EXPECT_EQ(ample.faults, "");
  ASSERT_TRUE(ample.rows.contains("GPUDirect"));
  EXPECT_EQ(ample.rows.at("GPUDirect").calls, 8u);
  EXPECT_EQ(ample.lines, 0);

  Options without = options;
  without.device_direct = DeviceDirect::off;
  const MachinesRun least = run_on_machines(without);
  EXPECT_EQ(least.faults, "");
  ASSERT_LT(least.taken, ample.taken) << "landings take nothing";

  options.device_memory = least.taken;
  const MachinesRun short_of_memory = run_on_machines(options);
  EXPECT_EQ(short_of_memory.faults, "");
  EXPECT_EQ(short_of_memory.taken, least.taken);
  EXPECT_EQ(short_of_memory.lines, 4) << "one of each rank";
  ASSERT_TRUE(short_of_memory.rows.contains("peer"));
  EXPECT_EQ(short_of_memory.rows.at("peer").calls, 8u);
  ASSERT_TRUE(short_of_memory.rows.contains("peer, through the host"));
  EXPECT_EQ(short_of_memory.rows.at("peer, through the host").calls, 8u);
  EXPECT_EQ(short_of_memory.rows.size(), 2u) << "nothing goes straight, and nothing is staged";
}

// Without a second place for operands, copies of messages are in the queue with the reductions.
TEST(PeerCalls, StayOnTheDeviceInOneQueueWhereDeviceMemoryIsShort) {
  Options options = of_two_machines();
  options.device_direct = DeviceDirect::off;
  options.slice = std::uint64_t{4} << 20;
  const MachinesRun ample = run_on_machines(options);
  EXPECT_EQ(ample.faults, "");
  options.device_memory = ample.taken - 1;
  const MachinesRun short_of_memory = run_on_machines(options);
  EXPECT_EQ(short_of_memory.faults, "");
  EXPECT_LT(short_of_memory.taken, ample.taken);
  EXPECT_EQ(short_of_memory.lines, 0) << "nothing is staged that was not before";
  ASSERT_TRUE(short_of_memory.rows.contains("peer"));
  EXPECT_EQ(short_of_memory.rows.at("peer").calls, 8u);
  EXPECT_FALSE(short_of_memory.rows.contains("staged"));
}

// ---- no scratch for what is fetched from peers' slots ------------------------------------------------------------

constexpr std::int64_t elements_of_three = 30000; // a multiple of the ranks
constexpr unsigned calls_of_three = 2;

struct ScratchRun {
  Seen seen;
  std::size_t scratch = 0; ///< bytes of rank 0, at most
  std::ptrdiff_t lines = 0;
};

/// Options by rank.
ScratchRun run_with(const std::vector<Options>& options) {
  ThreadJob job(options);
  ScratchRun run;
  testing::internal::CaptureStderr();
  run.seen = seen_by(job, std::vector<DeviceCall>(calls_of_three, on_device(elements_of_three, Place::same)));
  run.lines = lines_of_trouble(testing::internal::GetCapturedStderr(), "(STRATA_SCRATCH)");
  run.scratch = job.process(0).scratch().most_taken();
  return run;
}

Options of_three() {
  Options options = with_algorithm("direct", std::uint64_t{1} << 20, 4);
  options.log_choice = true;
  return options;
}

/// Too little by a byte.
Options without_scratch() {
  Options options = of_three();
  const ScratchRun ample = run_with(std::vector<Options>(3, options));
  EXPECT_EQ(ample.lines, 0);
  options.device_peer = DevicePeer::off;
  const ScratchRun staged = run_with(std::vector<Options>(3, options));
  EXPECT_LT(staged.scratch, ample.scratch) << "nothing is fetched";
  options = of_three();
  options.scratch = ample.scratch - 1;
  return options;
}

TEST(PeerCalls, AreStagedWithoutScratchForPeersOperands) {
  const ScratchRun run = run_with(std::vector<Options>(3, without_scratch()));
  EXPECT_EQ(run.seen.faults, "");
  EXPECT_EQ(run.lines, 3) << "one of each rank";
  ASSERT_TRUE(run.seen.rows.contains("staged"));
  EXPECT_EQ(run.seen.rows.at("staged").calls, 3 * calls_of_three);
  EXPECT_EQ(run.seen.rows.size(), 1u);
}

TEST(PeerCalls, StayOnTheDeviceWhereOneRankHasNoScratch) {
  const ScratchRun run = run_with({of_three(), without_scratch(), of_three()});
  EXPECT_EQ(run.seen.faults, "");
  EXPECT_EQ(run.lines, 1) << "of that rank";
  ASSERT_TRUE(run.seen.rows.contains("peer"));
  EXPECT_EQ(run.seen.rows.at("peer").calls, 3 * calls_of_three);
  ASSERT_TRUE(run.seen.rows.contains("peer, through the host"));
  EXPECT_EQ(run.seen.rows.size(), 2u);
  // It reads nothing from slots, so what is for it, alone or too, is put into none: of the others' messages, there is
  // their chunk for each other. Its own messages all are.
  constexpr std::uint64_t third = elements_of_three / 3 * sizeof(float);
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}})
    EXPECT_EQ(run.seen.by_rank[rank].at("peer").bytes, calls_of_three * third) << rank;
  EXPECT_EQ(run.seen.by_rank[1].at("peer").bytes, calls_of_three * 3 * third);
  // By the host goes what the others put into none: a chunk for it, and their results, which the others read there too.
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}})
    EXPECT_EQ(run.seen.by_rank[rank].at("peer, through the host").bytes, calls_of_three * 3 * third) << rank;
  EXPECT_EQ(run.seen.by_rank[1].at("peer, through the host").bytes, calls_of_three * 4 * third);
}

} // namespace
} // namespace strata::comm
