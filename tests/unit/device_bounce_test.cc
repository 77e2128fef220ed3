// SPDX-License-Identifier: BSD-3-Clause
// Buffers as the driver sees them, and the pinned memory that they pass through.
#include "device/bounce_pool.h"
#include "device/emulated/driver.h"
#include "device/vector.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include <sys/mman.h>

namespace strata::device {
namespace {

constexpr std::size_t page = 4096;

class DeviceBuffers : public testing::Test {
protected:
  std::byte* allocate(Kind kind, std::size_t bytes, void* at = nullptr, std::int32_t device = 0,
                      Origin origin = Origin::program) {
    return *accelerator_->memory.allocate(kind, device, bytes, origin, at);
  }
  /// Reserved addresses.
  static std::byte* room_for(std::size_t bytes) {
    return static_cast<std::byte*>(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  std::shared_ptr<Accelerator> accelerator_ = std::make_shared<Accelerator>();
  EmulatedDriver driver_{accelerator_};
};

TEST_F(DeviceBuffers, AreStagedWhenAnyPartIsInDeviceMemory) {
  std::byte* const room = room_for(3 * page);
  std::byte* const pinned = allocate(Kind::pinned, page, room);
  allocate(Kind::device, page, room + page);
  Vector vector;
  ASSERT_TRUE(vector.look(driver_, pinned, page));
  EXPECT_FALSE(vector.on_device());
  ASSERT_TRUE(vector.look(driver_, pinned, page + 1));
  EXPECT_TRUE(vector.on_device());
}

TEST_F(DeviceBuffers, AreUsedInPlaceWhenTheHostReachesThem) {
  std::byte host[16];
  Vector vector;
  for (const std::byte* begin : {allocate(Kind::managed, 16), allocate(Kind::pinned, 16), host}) {
    ASSERT_TRUE(vector.look(driver_, begin, 16));
    EXPECT_FALSE(vector.on_device());
  }
}

TEST_F(DeviceBuffers, AreCopiedPieceByPieceWhereTwoAllocationsMeet) {
  std::byte* const room = room_for(2 * page);
  allocate(Kind::device, page, room);
  allocate(Kind::device, page, room + page);
  std::vector<std::byte> wanted(2 * page), seen(2 * page);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = static_cast<std::byte>(i * 31 % 251);
  const std::size_t offset = 100, bytes = 2 * page - 300;
  Vector vector;
  ASSERT_TRUE(vector.look(driver_, room + 50, 2 * page - 60));
  const auto stream = std::move(*driver_.make_stream(0));
  const StreamOn queue{0, stream.get()};
  ASSERT_TRUE(vector.copy_in({&queue, 1}, offset, bytes, wanted.data()));
  ASSERT_TRUE(vector.copy_out({&queue, 1}, offset, bytes, seen.data()));
  ASSERT_TRUE(stream->synchronise());
  EXPECT_EQ(std::memcmp(wanted.data(), seen.data(), bytes), 0);
  EXPECT_EQ(**accelerator_->memory.reach(room + page + 5, 1), wanted[page + 5 - 150]);
}

TEST_F(DeviceBuffers, AreCopiedByStreamsOfTheDevicesThatTheyAreOn) {
  accelerator_->faults.devices = 3;
  std::byte* const room = room_for(4 * page);
  allocate(Kind::device, page, room, 2, Origin::pool_of_program);
  allocate(Kind::pinned, page, room + page);
  allocate(Kind::device, page, room + 2 * page, 1, Origin::pool_of_program);
  allocate(Kind::device, page, room + 3 * page, 2);
  Vector vector;
  ASSERT_TRUE(vector.look(driver_, room, 4 * page));
  EXPECT_EQ(vector.devices(), (std::vector<std::int32_t>{2, 1}));
  for (std::int32_t device = 0; device < 3; ++device)
    EXPECT_FALSE(vector.is_in_reach_of(device));
  std::vector<std::byte> wanted(4 * page), seen(4 * page);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = static_cast<std::byte>(i * 31 % 251);
  auto streams = VectorStreams::make(driver_, vector);
  ASSERT_TRUE(streams);
  ASSERT_TRUE(streams->deliver(vector, 0, wanted.size(), wanted.data()));
  ASSERT_TRUE(streams->fetch(vector, 0, seen.size(), seen.data()));
  EXPECT_EQ(wanted, seen);
  // Of one device, and of memory that others reach too.
  ASSERT_TRUE(vector.look(driver_, room + 2 * page, 2 * page));
  EXPECT_TRUE(vector.is_in_reach_of(1));
  EXPECT_FALSE(vector.is_in_reach_of(2));
}

TEST_F(DeviceBuffers, PassThroughNoMorePinnedMemoryThanAllowed) {
  BouncePool pool(driver_, 4 * page);
  const BounceBlock first = pool.lease_pinned(3 * page);
  ASSERT_NE(first.begin, nullptr);
  EXPECT_EQ(pool.lease_pinned(2 * page).begin, nullptr);
  const BounceBlock second = pool.lease(2 * page);
  ASSERT_NE(second.begin, nullptr);
  EXPECT_FALSE(second.pinned);
  EXPECT_EQ(pool.pinned_bytes(), 3 * page);
  pool.give_back(first);
  pool.give_back(second);
  const BounceBlock other = pool.lease_pinned(4 * page); // in place of what is idle
  EXPECT_TRUE(other.pinned);
  EXPECT_EQ(pool.pinned_bytes(), 4 * page);
  pool.give_back(other);
}

TEST_F(DeviceBuffers, PassThroughThePinnedMemoryOfTheCallBefore) {
  BouncePool pool(driver_, 8 * page);
  const BounceBlock first = pool.lease(page);
  pool.give_back(first);
  const BounceBlock second = pool.lease(page / 2);
  EXPECT_EQ(second.begin, first.begin);
  pool.give_back(second);
}

TEST_F(DeviceBuffers, PassThroughOrdinaryMemoryWhereNoneCanBePinned) {
  accelerator_->faults.fail_pinned = true;
  BouncePool pool(driver_, 8 * page);
  const BounceBlock block = pool.lease(page);
  ASSERT_NE(block.begin, nullptr);
  EXPECT_FALSE(block.pinned);
  EXPECT_NE(pool.why_not(), "");
  pool.give_back(block);
}

TEST_F(DeviceBuffers, LeaveNoPinnedMemoryBehind) {
  {
    BouncePool pool(driver_, 8 * page);
    pool.give_back(pool.lease(page));
  }
  EXPECT_EQ(accelerator_->memory.count(), 0u);
}

} // namespace
} // namespace strata::device
