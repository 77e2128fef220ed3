// SPDX-License-Identifier: BSD-3-Clause
// What a pool of buffers takes from the system, and when.
#include "transport/buffer_pool.h"

#include "allocations.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace strata::transport {
namespace {

constexpr std::size_t plenty = std::size_t{1} << 20;

TEST(BufferPool, GivesRoomForWhatIsAskedAligned) {
  BufferPool pool(plenty);
  for (const std::size_t bytes : {0, 1, 511, 512, 513, 4096, 4097, 1 << 20}) {
    BufferPool::Buffer* const buffer = pool.take(bytes);
    ASSERT_NE(buffer, nullptr);
    EXPECT_GE(buffer->room, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->bytes) % BufferPool::alignment, 0U);
    std::memset(buffer->bytes, 1, buffer->room); // a sanitizer sees where it is not there
    pool.put(buffer);
  }
  EXPECT_EQ(pool.take(SIZE_MAX), nullptr);
}

TEST(BufferPool, TakesNoMemoryForWhatWasThereBefore) {
  BufferPool pool(plenty);
  std::vector<BufferPool::Buffer*> taken;
  const auto take_all_and_put = [&](std::size_t number) {
    for (std::size_t i = 0; i < number; ++i)
      taken.push_back(pool.take(1000));
    for (BufferPool::Buffer* const buffer : taken)
      pool.put(buffer);
    taken.clear();
  };
  taken.reserve(100);
  take_all_and_put(4);
  const std::uint64_t before = allocations::of_this_thread();
  take_all_and_put(4);
  take_all_and_put(8); // the next most, for which there are spares
  EXPECT_EQ(allocations::of_this_thread(), before);
  take_all_and_put(100);
  EXPECT_GT(allocations::of_this_thread(), before);
}

TEST(BufferPool, HoldsNoMoreIdleBytesThanItMay) {
  constexpr std::size_t room = 64 << 10, most_idle = 3 * room;
  BufferPool pool(most_idle);
  std::vector<BufferPool::Buffer*> taken;
  for (int i = 0; i < 10; ++i)
    taken.push_back(pool.take(room));
  EXPECT_GE(pool.most_bytes(), 10 * room);
  EXPECT_LE(pool.most_bytes(), 10 * room + most_idle);
  for (BufferPool::Buffer* const buffer : taken)
    pool.put(buffer);
  const std::uint64_t before = allocations::bytes_of_this_thread();
  for (BufferPool::Buffer*& buffer : taken)
    buffer = pool.take(room);
  EXPECT_GE(allocations::bytes_of_this_thread() - before, 7 * room) << "more than three were kept";
  for (BufferPool::Buffer* const buffer : taken)
    pool.put(buffer);
}

// A program that goes over to vectors of another size.
TEST(BufferPool, LetsBuffersOfOneSizeMakeWayForOthers) {
  constexpr std::size_t room = 64 << 10, most_idle = 8 * room;
  BufferPool pool(most_idle);
  const auto bytes_of_calls_with = [&](std::size_t bytes, std::size_t number) {
    std::vector<BufferPool::Buffer*> taken;
    const std::uint64_t before = allocations::bytes_of_this_thread();
    for (std::size_t i = 0; i < number; ++i)
      taken.push_back(pool.take(bytes));
    const std::uint64_t spent = allocations::bytes_of_this_thread() - before;
    for (BufferPool::Buffer* const buffer : taken)
      pool.put(buffer);
    return spent;
  };
  bytes_of_calls_with(room, 16); // of which it keeps as many as it may
  EXPECT_LT(bytes_of_calls_with(room, 8), room);
  EXPECT_GE(bytes_of_calls_with(2 * room, 2), 4 * room) << "there was one of this size already";
  EXPECT_LT(bytes_of_calls_with(2 * room, 2), room);
  EXPECT_LT(bytes_of_calls_with(room, 4), room) << "more made way than had to";
  bytes_of_calls_with(16 * room, 1); // cannot be kept
  EXPECT_LT(bytes_of_calls_with(room, 4), room) << "some made way for nothing";
}

// Messages that are too long to be kept come for as long as a job lasts.
TEST(BufferPool, TakesTheSameForEachBufferThatItDoesNotKeep) {
  constexpr std::size_t room = std::size_t{64} << 10;
  BufferPool pool(room / 2);
  const auto bytes_of_a_buffer = [&] {
    const std::uint64_t before = allocations::bytes_of_this_thread();
    pool.put(pool.take(room));
    return allocations::bytes_of_this_thread() - before;
  };
  bytes_of_a_buffer(); // which makes the list
  const std::uint64_t first = bytes_of_a_buffer();
  EXPECT_GE(first, room) << "it was kept";
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(bytes_of_a_buffer(), first) << i;
}

TEST(BufferPool, HasNoBufferWhereThereIsNoMemory) {
  using allocations::Shortage;
  BufferPool pool(plenty);
  for (std::uint64_t allowed = 0;; ++allowed) {
    BufferPool::Buffer* buffer = nullptr;
    bool was_felt = false;
    {
      const Shortage shortage(allowed, Shortage::Lasts::to_its_end);
      buffer = pool.take(std::size_t{1} << (10 + allowed)); // of a size that was not taken yet
      was_felt = Shortage::was_felt();
    }
    if (buffer != nullptr) {
      std::memset(buffer->bytes, 1, buffer->room);
      pool.put(buffer);
    } else {
      EXPECT_LT(allowed, 2U) << "the buffer itself takes two allocations";
    }
    if (!was_felt) break;
    ASSERT_LT(allowed, 20U);
  }
}

} // namespace
} // namespace strata::transport
