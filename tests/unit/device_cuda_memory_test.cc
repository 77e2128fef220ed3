// SPDX-License-Identifier: BSD-3-Clause
// What cuda.so makes of pointers, of memory of other processes and of other devices, over a libcuda of the tests' own.
#include "cuda_driver_test.h"

#include <future>
#include <vector>

namespace strata::device {
namespace {

// ---- memory -----------------------------------------------------------------------------------------------------

TEST_F(CudaDriverTest, KnowsTheKindsOfMemoryByOneQueryEach) {
  struct Expected {
    fake_memory made;
    Kind kind;
    std::int32_t device;
    bool exportable;
  };
  for (const Expected& expected :
       {Expected{fake_pinned, Kind::pinned, -1, false}, Expected{fake_managed, Kind::managed, 1, false},
        Expected{fake_device, Kind::device, 1, true}, Expected{fake_pool, Kind::device, 1, false},
        Expected{fake_mapped, Kind::device, 1, false}}) {
    auto* const begin = static_cast<std::byte*>(cuda().allocate(expected.made, 1, 10000));
    const unsigned before = calls("cuPointerGetAttributes");
    const auto memory = driver_->memory_of(begin + 9999);
    ASSERT_TRUE(memory);
    EXPECT_EQ(calls("cuPointerGetAttributes"), before + 1);
    EXPECT_EQ(memory->kind, expected.kind) << expected.made;
    EXPECT_EQ(memory->device, expected.device) << expected.made;
    EXPECT_EQ(memory->exportable, expected.exportable) << expected.made;
    EXPECT_EQ(memory->reached_by_all, expected.exportable) << expected.made;
    EXPECT_EQ(memory->base, begin);
    EXPECT_EQ(memory->bytes, 10000u);
  }
}

TEST_F(CudaDriverTest, TakesTheStackAndTheHeapForHostMemory) {
  const std::vector<int> heap(10);
  for (const void* const pointer : {static_cast<const void*>(&heap), static_cast<const void*>(heap.data())}) {
    const auto memory = driver_->memory_of(pointer);
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->kind, Kind::host);
    EXPECT_EQ(memory->base, nullptr);
    EXPECT_FALSE(memory->exportable);
  }
}

TEST_F(CudaDriverTest, TellsAnAllocationFromAFreedOneAtItsAddress) {
  void* const first = cuda().allocate(fake_device, 0, 4096);
  const auto before = driver_->memory_of(first);
  cuda().release(first);
  void* const second = cuda().allocate(fake_device, 0, 4096);
  const auto after = driver_->memory_of(second);
  ASSERT_TRUE(before && after);
  EXPECT_NE(before->buffer, after->buffer);
}

TEST_F(CudaDriverTest, LooksInAContextWhereTheThreadHasNone) {
  void* const memory = cuda().allocate(fake_device, 1, 4096);
  cuda().lookup_needs_context = 1;
  const auto nobody = driver_->memory_of(memory);
  ASSERT_TRUE(nobody);
  EXPECT_EQ(nobody->kind, Kind::host) << "without any context there is no memory of a device";
  const auto stream = driver_->make_stream(1); // makes the primary context of device 1
  const auto somebody = driver_->memory_of(memory);
  ASSERT_TRUE(stream && somebody);
  EXPECT_EQ(somebody->kind, Kind::device);
}

TEST_F(CudaDriverTest, TakesForTheHostsWhatIsInNoContext) {
  void* const memory = cuda().allocate(fake_device, 1, 4096);
  cuda().host_has_no_context = 1;
  const int on_the_stack = 0;
  const auto without = driver_->memory_of(&on_the_stack);
  const auto stream = driver_->make_stream(1); // makes the primary context of device 1
  const unsigned asked = calls("cuPointerGetAttributes");
  const auto in_primary = driver_->memory_of(&on_the_stack);
  EXPECT_EQ(calls("cuPointerGetAttributes"), asked + 2) << "again in that context";
  cuda().enter_own_context(0);
  const auto in_own = driver_->memory_of(&on_the_stack), of_device = driver_->memory_of(memory);
  cuda().leave_context();
  ASSERT_TRUE(without && stream && in_primary && in_own && of_device) << "the host's memory is no error";
  EXPECT_EQ(without->kind, Kind::host);
  EXPECT_EQ(in_primary->kind, Kind::host);
  EXPECT_EQ(in_own->kind, Kind::host);
  EXPECT_EQ(of_device->kind, Kind::device);
  EXPECT_EQ(calls("cuCtxPushCurrent"), calls("cuCtxPopCurrent"));
}

TEST_F(CudaDriverTest, SeesMemoryOfTheProgramsOwnContextInThreadsThatHaveIt) {
  void* const own = cuda().enter_own_context(1);
  unsigned long long place = 0;
  ASSERT_EQ(libcuda_.call("cuMemAlloc_v2", &place, std::size_t{4096}), 0);
  const auto* const memory = reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(place));
  cuda().lookup_needs_context = 1;
  const auto here = driver_->memory_of(memory + 100);
  const auto elsewhere = std::async(std::launch::async, [&] { return driver_->memory_of(memory + 100); }).get();
  EXPECT_EQ(cuda().current(), own);
  cuda().leave_context();
  ASSERT_TRUE(here && elsewhere);
  EXPECT_EQ(here->kind, Kind::device);
  EXPECT_EQ(here->device, 1);
  EXPECT_EQ(here->base, memory);
  EXPECT_EQ(elsewhere->kind, Kind::host) << "that thread has no context, and no device has a primary one";
  EXPECT_EQ(calls("cuDevicePrimaryCtxRetain"), 0u) << "a look makes no context";
}

TEST_F(CudaDriverTest, SaysWhenADeviceIsLost) {
  cuda().failing = "cuPointerGetAttributes";
  cuda().failing_code = uncorrectable;
  const int on_the_stack = 0;
  const auto memory = driver_->memory_of(&on_the_stack);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().kind, ErrorKind::resource);
  EXPECT_NE(memory.error().message.find(": CUDA_ERROR_ECC_UNCORRECTABLE"), std::string::npos);
}

// ---- other processes and other devices --------------------------------------------------------------------------

/// As if another process of this machine had exported it: its nonce is the 8 bytes before the 64 of CUDA's handle.
std::string from_another_process(std::string exported) {
  exported[exported.size() - 72] = static_cast<char>(exported[exported.size() - 72] ^ 1);
  return exported;
}

TEST_F(CudaDriverTest, MapsMemoryOfAnotherProcessOnceForAllItsUsers) {
  const auto memory = driver_->allocate(1, 4096);
  ASSERT_TRUE(memory);
  const auto exported = driver_->export_memory(*memory);
  ASSERT_TRUE(exported) << exported.error().message;
  const std::string handle = from_another_process(*exported);
  const auto first = driver_->open_exported(handle, 0), second = driver_->open_exported(handle, 0);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(calls("cuIpcOpenMemHandle"), 1u);
  EXPECT_TRUE(*driver_->close_exported(*first));
  EXPECT_EQ(calls("cuIpcCloseMemHandle"), 0u);
  EXPECT_TRUE(*driver_->close_exported(*second));
  EXPECT_EQ(calls("cuIpcCloseMemHandle"), 1u);
  EXPECT_FALSE(driver_->close_exported(*second));
}

TEST_F(CudaDriverTest, ClosesNothingWhileAStreamMayWaitForTheHost) {
  const auto memory = driver_->allocate(1, 4096);
  const auto mapped = driver_->open_exported(from_another_process(*driver_->export_memory(*memory)), 0);
  ASSERT_TRUE(mapped);
  driver_->hold_frees();
  EXPECT_FALSE(*driver_->close_exported(*mapped)) << "its owner would hear that it may be freed";
  driver_->release_frees();
  EXPECT_EQ(calls("cuIpcCloseMemHandle"), 0u) << "it is the caller's to close it";
  EXPECT_TRUE(*driver_->close_exported(*mapped));
  EXPECT_EQ(calls("cuIpcCloseMemHandle"), 1u);
}

// Memory that is freed, and other memory in its place, may have one handle.
TEST_F(CudaDriverTest, TakesNoMappingOfWhatWasFreedForThatOfWhatIsThereNow) {
  const auto before = driver_->allocate(1, 4096);
  const std::string old = from_another_process(*driver_->export_memory(*before));
  const auto mapped = driver_->open_exported(old, 0);
  ASSERT_TRUE(mapped);
  std::string now = old;
  now[now.size() - 80] = static_cast<char>(now[now.size() - 80] ^ 1); // the id of the allocation
  const auto stale = driver_->open_exported(now, 0);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().kind, ErrorKind::unsupported);
  EXPECT_NE(stale.error().message.find("still mapped"), std::string::npos) << stale.error().message;
  EXPECT_TRUE(driver_->open_exported(now, 2)) << "on another device nothing of it is open";
  EXPECT_TRUE(*driver_->close_exported(*mapped));
  EXPECT_TRUE(driver_->open_exported(now, 0));
}

TEST_F(CudaDriverTest, TellsMemoryApartThatHasOnePlaceAfterTheOther) {
  const auto first = driver_->allocate(1, 4096);
  const std::string before = *driver_->export_memory(*first);
  EXPECT_EQ(*driver_->export_memory(*first), before);
  ASSERT_TRUE(driver_->free(*first));
  const auto second = driver_->allocate(1, 4096);
  EXPECT_NE(*driver_->export_memory(*second), before);
}

TEST_F(CudaDriverTest, ClosesWhatIsStillMapped) {
  const auto memory = driver_->allocate(1, 4096);
  const auto exported = driver_->export_memory(*memory);
  ASSERT_TRUE(exported);
  ASSERT_TRUE(driver_->open_exported(from_another_process(*exported), 2));
  driver_.reset();
  EXPECT_EQ(calls("cuIpcCloseMemHandle"), 1u);
}

TEST_F(CudaDriverTest, RefusesHandlesThatItCannotOpen) {
  const auto memory = driver_->allocate(1, 4096);
  const auto exported = driver_->export_memory(*memory);
  ASSERT_TRUE(exported);
  EXPECT_EQ(driver_->open_exported(*exported, 0).error().kind, ErrorKind::unsupported) << "its own process";
  std::string elsewhere = *exported;
  elsewhere[10] = static_cast<char>(elsewhere[10] ^ 1);
  EXPECT_EQ(driver_->open_exported(elsewhere, 0).error().kind, ErrorKind::unsupported) << "another machine";
  EXPECT_EQ(driver_->open_exported("rubbish", 0).error().kind, ErrorKind::argument);
  EXPECT_EQ(driver_->open_exported(std::string(exported->size(), 'x'), 0).error().kind, ErrorKind::argument);
  EXPECT_TRUE(driver_->free(*memory));
  const auto freed = driver_->open_exported(from_another_process(*exported), 0);
  ASSERT_FALSE(freed);
  EXPECT_EQ(freed.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(freed.error().message, "cuIpcOpenMemHandle on device 0: CUDA_ERROR_INVALID_VALUE");
}

TEST_F(CudaDriverTest, ExportsNoMemoryFromPoolsOrOfTheHost) {
  const auto pool = driver_->export_memory(cuda().allocate(fake_pool, 0, 4096));
  ASSERT_FALSE(pool);
  EXPECT_EQ(pool.error().kind, ErrorKind::unsupported);
  int host = 0;
  EXPECT_EQ(driver_->export_memory(&host).error().kind, ErrorKind::argument);
  EXPECT_EQ(calls("cuIpcGetMemHandle"), 0u);
}

TEST_F(CudaDriverTest, EnablesPeerAccessWhereTheDevicesHaveIt) {
  EXPECT_TRUE(driver_->enable_peer_access(0, 1));
  EXPECT_TRUE(driver_->enable_peer_access(0, 1)) << "again";
  EXPECT_TRUE(driver_->enable_peer_access(2, 2)) << "of itself";
  cuda().peers_denied = 1;
  const Status denied = driver_->enable_peer_access(1, 2);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(denied.error().message, "cuDeviceCanAccessPeer of device 1 to device 2: no");
}

} // namespace
} // namespace strata::device
