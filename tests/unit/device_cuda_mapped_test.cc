// SPDX-License-Identifier: BSD-3-Clause
// Memory from pools and virtual memory, made by the calls that programs make: what cuda.so sees of it, and that the
// tests' own libcuda, over which MPI programs use it too, refuses what CUDA's manual forbids.
#include "cuda_driver_test.h"

#include <cstddef>
#include <cstdint>

namespace strata::device {
namespace {

class CudaMappedMemoryTest : public CudaDriverTest {
protected:
  using Place = unsigned long long;
  using Handle = unsigned long long;
  // As CUmemLocation, CUmemAllocationProp and CUmemAccessDesc of cuda.h.
  struct Location {
    int type;
    int device;
  };
  struct Properties {
    int type;
    int handle_types;
    Location location;
    void* of_windows;
    unsigned char flags[8];
  };
  struct Access {
    Location location;
    int flags;
  };
  static constexpr int at_a_device = 1, pinned_at_its_place = 1, read_and_write = 3;
  static constexpr std::size_t unit = std::size_t{2} << 20; ///< the granularity

  static Properties on_device(int device) { return {pinned_at_its_place, 0, {at_a_device, device}, nullptr, {}}; }
  static std::byte* memory_at(Place place) { return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(place)); }

  Handle create(int device, std::size_t bytes) {
    const Properties properties = on_device(device);
    Handle handle = 0;
    EXPECT_EQ(libcuda_.call("cuMemCreate", &handle, bytes, &properties, 0ull), 0);
    return handle;
  }
  int let_go(Handle handle) { return libcuda_.call("cuMemRelease", handle); }
  Place reserve(std::size_t bytes) {
    Place place = 0;
    EXPECT_EQ(libcuda_.call("cuMemAddressReserve", &place, bytes, std::size_t{0}, Place{0}, 0ull), 0);
    return place;
  }
  int unreserve(Place place, std::size_t bytes) { return libcuda_.call("cuMemAddressFree", place, bytes); }
  int map(Place place, std::size_t bytes, Handle handle) {
    return libcuda_.call("cuMemMap", place, bytes, std::size_t{0}, handle, 0ull);
  }
  int unmap(Place place, std::size_t bytes) { return libcuda_.call("cuMemUnmap", place, bytes); }
  int let_access(Place place, std::size_t bytes, int device) {
    const Access access{{at_a_device, device}, read_and_write};
    return libcuda_.call("cuMemSetAccess", place, bytes, &access, std::size_t{1});
  }
  /// From the pool of a device.
  Place from_pool(int device, std::size_t bytes) {
    cuda().enter_own_context(device);
    Place place = 0;
    EXPECT_EQ(libcuda_.call("cuMemAllocAsync", &place, bytes, static_cast<void*>(nullptr)), 0);
    cuda().leave_context();
    return place;
  }
  Place mapped_for(int device, std::size_t bytes) {
    const Place place = reserve(bytes);
    EXPECT_EQ(map(place, bytes, create(device, bytes)), 0);
    EXPECT_EQ(let_access(place, bytes, device), 0);
    return place;
  }
};

TEST_F(CudaMappedMemoryTest, IsOfADeviceAndForItsStreamsAlone) {
  const auto stream = driver_->make_stream(1), other = driver_->make_stream(0);
  ASSERT_TRUE(stream && other);
  for (const Place place : {from_pool(1, unit), mapped_for(1, unit)}) {
    std::byte* const begin = memory_at(place);
    const auto memory = driver_->memory_of(begin + unit - 1);
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->kind, Kind::device);
    EXPECT_EQ(memory->device, 1);
    EXPECT_EQ(memory->base, begin);
    EXPECT_EQ(memory->bytes, unit);
    EXPECT_FALSE(memory->reached_by_all);
    const std::uint32_t word = 7;
    std::uint32_t back = 0;
    EXPECT_TRUE((*stream)->copy(begin + 64, &word, sizeof word));
    EXPECT_TRUE((*stream)->copy(&back, begin + 64, sizeof back));
    EXPECT_EQ(back, word);
    EXPECT_FALSE((*other)->copy(begin, &word, sizeof word)) << "on another device";
  }
}

TEST_F(CudaMappedMemoryTest, HasNoHandleForOtherProcesses) {
  const Place pool = from_pool(1, unit), mapped = mapped_for(1, unit);
  unsigned char handle[64]; // as CUipcMemHandle
  for (const Place place : {pool, mapped}) {
    const auto exported = driver_->export_memory(memory_at(place));
    ASSERT_FALSE(exported);
    EXPECT_EQ(exported.error().kind, ErrorKind::unsupported);
    cuda().enter_own_context(1);
    EXPECT_EQ(libcuda_.call("cuIpcGetMemHandle", &handle, place), invalid_value);
    cuda().leave_context();
  }
}

TEST_F(CudaMappedMemoryTest, IsTheHostsBeforeItIsMappedAndNotCopiedBeforeItIsAccessible) {
  const auto stream = driver_->make_stream(1);
  ASSERT_TRUE(stream);
  const Place place = reserve(unit);
  std::byte* const begin = memory_at(place);
  const std::byte some[8] = {};
  const auto reserved = driver_->memory_of(begin);
  EXPECT_FALSE((*stream)->copy(begin, some, sizeof some)) << "these are addresses alone";
  ASSERT_EQ(map(place, unit, create(1, unit)), 0);
  const auto mapped = driver_->memory_of(begin);
  const Status refused = (*stream)->copy(begin, some, sizeof some);
  ASSERT_TRUE(reserved && mapped);
  EXPECT_EQ(reserved->kind, Kind::host);
  EXPECT_EQ(mapped->kind, Kind::device);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cuMemcpyAsync of 8 bytes on device 1: CUDA_ERROR_INVALID_VALUE");
  ASSERT_EQ(let_access(place, unit, 1), 0);
  EXPECT_TRUE((*stream)->copy(begin, some, sizeof some));
}

TEST_F(CudaMappedMemoryTest, HasAnotherIdWhereOtherMemoryIsMappedAtItsPlace) {
  const Place place = mapped_for(1, unit);
  const auto before = driver_->memory_of(memory_at(place));
  ASSERT_EQ(unmap(place, unit), 0);
  ASSERT_EQ(map(place, unit, create(2, unit)), 0);
  const auto after = driver_->memory_of(memory_at(place));
  ASSERT_TRUE(before && after);
  EXPECT_NE(before->buffer, after->buffer);
  EXPECT_EQ(after->device, 2);
}

TEST_F(CudaMappedMemoryTest, IsNotMadeOfWhatCudasManualForbids) {
  const Properties here = on_device(1), nowhere = on_device(fake_devices);
  Handle handle = 0;
  EXPECT_EQ(libcuda_.call("cuMemCreate", &handle, unit + 4096, &here, 0ull), invalid_value) << "parts of a unit";
  EXPECT_EQ(libcuda_.call("cuMemCreate", &handle, unit, &nowhere, 0ull), invalid_device);
  Place place = 0;
  EXPECT_EQ(libcuda_.call("cuMemAddressReserve", &place, std::size_t{0}, std::size_t{0}, Place{0}, 0ull),
            invalid_value);
  const Handle one_unit = create(1, unit);
  const Place two_units = reserve(2 * unit);
  std::byte nothing_of_cuda{};
  EXPECT_EQ(map(reinterpret_cast<std::uintptr_t>(&nothing_of_cuda), unit, one_unit), invalid_value);
  EXPECT_EQ(map(two_units, 2 * unit, one_unit), invalid_value) << "more than was created";
  EXPECT_EQ(map(two_units, 2 * unit, one_unit + 1), invalid_value) << "nothing was created";
  EXPECT_EQ(let_access(two_units, 2 * unit, 1), invalid_value) << "nothing is mapped";
  EXPECT_EQ(unmap(two_units, 2 * unit), invalid_value);
}

TEST_F(CudaMappedMemoryTest, IsUnmappedBeforeItsAddressesGo) {
  const Handle handle = create(1, unit);
  const Place place = reserve(unit);
  ASSERT_EQ(map(place, unit, handle), 0);
  EXPECT_EQ(map(place, unit, handle), invalid_value) << "something is mapped there";
  EXPECT_EQ(unreserve(place, unit), invalid_value);
  cuda().enter_own_context(1);
  EXPECT_EQ(libcuda_.call("cuMemFree_v2", place), invalid_value);
  EXPECT_EQ(libcuda_.call("cuMemFreeAsync", place, static_cast<void*>(nullptr)), invalid_value);
  cuda().leave_context();
  EXPECT_EQ(unmap(place, unit / 2), invalid_value) << "a part of what is mapped";
  EXPECT_EQ(unmap(place, unit), 0);
  EXPECT_EQ(unreserve(place, unit), 0);
}

TEST_F(CudaMappedMemoryTest, IsGivenBackInEitherOrder) {
  const Place pool = from_pool(0, 1000);
  cuda().enter_own_context(0);
  EXPECT_EQ(libcuda_.call("cuMemFreeAsync", pool, static_cast<void*>(nullptr)), 0);
  cuda().leave_context();
  for (const bool handle_first : {true, false}) {
    const Handle handle = create(0, unit);
    const Place place = reserve(unit);
    ASSERT_EQ(map(place, unit, handle), 0);
    if (handle_first) {
      EXPECT_EQ(let_go(handle), 0);
      EXPECT_EQ(let_go(handle), invalid_value) << "twice";
    }
    EXPECT_EQ(unmap(place, unit), 0);
    EXPECT_EQ(unreserve(place, unit), 0);
    if (!handle_first) {
      EXPECT_EQ(let_go(handle), 0);
    }
    EXPECT_EQ(cuda().left_over(), 0);
  }
}

} // namespace
} // namespace strata::device
