// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the calls of libcuda that fail, one after the other: an error that names the call, what it was for,
// and the reason that CUDA gives.
#include "cuda_driver_test.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace strata::device {
namespace {

constexpr std::size_t four_bytes = 4;

template <typename Made>
Status status_of(const Result<Made>& made) {
  return made ? ok() : Status(made.error());
}

Status on_a_stream(Driver& driver, Status (*work)(Stream&)) {
  const auto stream = driver.make_stream(1);
  return stream ? work(**stream) : Status(stream.error());
}

Status on_an_event(Driver& driver, Status (*work)(Stream&, Event&)) {
  const auto stream = driver.make_stream(1);
  const auto event = driver.make_event(1);
  return stream && event ? work(**stream, **event) : Status(argument_error("there is nothing to try it with"));
}

Status allocate_and_free(Driver& driver) {
  const auto memory = driver.allocate(1, 4096);
  return memory ? driver.free(*memory) : Status(memory.error());
}

Status allocate_and_free_pinned(Driver& driver) {
  const auto memory = driver.allocate_pinned(8192);
  return memory ? driver.free_pinned(*memory) : Status(memory.error());
}

Status export_some(Driver& driver) {
  const auto memory = driver.allocate(1, 4096);
  return memory ? status_of(driver.export_memory(*memory)) : Status(memory.error());
}

Status enable_access_to_an_active_peer(Driver& driver) {
  const auto peer = driver.make_stream(1); // makes the primary context of device 1
  return peer ? driver.enable_peer_access(0, 1) : Status(peer.error());
}

Status copy_on_a_stream(Driver& driver) {
  return on_a_stream(driver, [](Stream& stream) {
    const std::byte from[four_bytes] = {};
    std::byte to[four_bytes] = {};
    return stream.copy(to, from, four_bytes);
  });
}

Status sum_on_a_stream(Driver& driver) {
  return on_a_stream(driver, [](Stream& stream) {
    float vector[4] = {};
    const void* const from[] = {vector, vector};
    return stream.reduce(type::Element::float32, type::Operation::sum, vector, from, 4);
  });
}

Status synchronise_a_stream(Driver& driver) {
  return on_a_stream(driver, [](Stream& stream) { return stream.synchronise(); });
}

Status record_an_event(Driver& driver) {
  return on_an_event(driver, [](Stream& stream, Event& event) { return stream.record(event); });
}

Status wait_for_an_event(Driver& driver) {
  return on_an_event(driver, [](Stream& stream, Event& event) { return stream.wait_for(event); });
}

struct FailingCall {
  const char* call;
  int code;
  Status (*attempt)(Driver&); ///< which makes that call
  ErrorKind kind;
  const char* message;
};

const FailingCall failing_calls[] = {
    {"cuDevicePrimaryCtxRetain", out_of_memory, [](Driver& driver) { return status_of(driver.make_event(2)); },
     ErrorKind::resource, "cuDevicePrimaryCtxRetain of device 2: CUDA_ERROR_OUT_OF_MEMORY"},
    {"cuCtxSynchronize", uncorrectable, [](Driver& driver) { return driver.synchronise(0); }, ErrorKind::resource,
     "cuCtxSynchronize of device 0: CUDA_ERROR_ECC_UNCORRECTABLE"},
    {"cuDeviceGetName", uncorrectable, [](Driver& driver) { return status_of(driver.facts(2)); }, ErrorKind::resource,
     "cuDeviceGetName of device 2: CUDA_ERROR_ECC_UNCORRECTABLE"},
    {"cuDeviceGetPCIBusId", uncorrectable, [](Driver& driver) { return status_of(driver.facts(2)); },
     ErrorKind::resource, "cuDeviceGetPCIBusId of device 2: CUDA_ERROR_ECC_UNCORRECTABLE"},
    {"cuDeviceTotalMem", uncorrectable, [](Driver& driver) { return status_of(driver.facts(2)); }, ErrorKind::resource,
     "cuDeviceTotalMem of device 2: CUDA_ERROR_ECC_UNCORRECTABLE"},

    {"cuMemAlloc", out_of_memory, allocate_and_free, ErrorKind::resource,
     "cuMemAlloc of 4096 bytes on device 1: CUDA_ERROR_OUT_OF_MEMORY"},
    {"cuMemAllocManaged", out_of_memory, [](Driver& driver) { return status_of(driver.allocate_managed(1, 4096)); },
     ErrorKind::resource, "cuMemAllocManaged of 4096 bytes on device 1: CUDA_ERROR_OUT_OF_MEMORY"},
    {"cuMemHostAlloc", out_of_memory, allocate_and_free_pinned, ErrorKind::resource,
     "cuMemHostAlloc of 8192 bytes: CUDA_ERROR_OUT_OF_MEMORY"},
    {"cuMemFree", illegal_address, allocate_and_free, ErrorKind::resource,
     "cuMemFree on device 1: CUDA_ERROR_ILLEGAL_ADDRESS"},
    {"cuMemFreeHost", illegal_address, allocate_and_free_pinned, ErrorKind::resource,
     "cuMemFreeHost: CUDA_ERROR_ILLEGAL_ADDRESS"},

    {"cuStreamCreate", invalid_value, [](Driver& driver) { return status_of(driver.make_stream(0)); },
     ErrorKind::argument, "cuStreamCreate on device 0: CUDA_ERROR_INVALID_VALUE"},
    {"cuStreamGetCtx", context_destroyed, [](Driver& driver) { return status_of(driver.adopt_stream(nullptr)); },
     ErrorKind::resource, "cuStreamGetCtx of the program's stream: CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {"cuMemcpyAsync", illegal_address, copy_on_a_stream, ErrorKind::resource,
     "cuMemcpyAsync of 4 bytes on device 1: CUDA_ERROR_ILLEGAL_ADDRESS"},
    {"cuLaunchKernel", out_of_resources, sum_on_a_stream, ErrorKind::resource,
     "cuLaunchKernel of strata_reduce_float32_sum on device 1: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {"cuStreamSynchronize", illegal_address, synchronise_a_stream, ErrorKind::resource,
     "cuStreamSynchronize on device 1: CUDA_ERROR_ILLEGAL_ADDRESS"},
    {"cuEventCreate", unknown_code, [](Driver& driver) { return status_of(driver.make_event(2)); }, ErrorKind::resource,
     "cuEventCreate on device 2: CUDA error 1001"},
    {"cuEventRecord", uncorrectable, record_an_event, ErrorKind::resource,
     "cuEventRecord on device 1: CUDA_ERROR_ECC_UNCORRECTABLE"},
    {"cuStreamWaitEvent", uncorrectable, wait_for_an_event, ErrorKind::resource,
     "cuStreamWaitEvent on device 1: CUDA_ERROR_ECC_UNCORRECTABLE"},

    {"cuIpcGetMemHandle", invalid_value, export_some, ErrorKind::unsupported,
     "cuIpcGetMemHandle on device 1: CUDA_ERROR_INVALID_VALUE"},
    {"cuDeviceCanAccessPeer", uncorrectable, [](Driver& driver) { return status_of(driver.reaches(0, 1)); },
     ErrorKind::resource, "cuDeviceCanAccessPeer of device 0 to device 1: CUDA_ERROR_ECC_UNCORRECTABLE"},
    {"cuCtxEnablePeerAccess", too_many_peers, enable_access_to_an_active_peer, ErrorKind::unsupported,
     "cuCtxEnablePeerAccess of device 0 to device 1: CUDA_ERROR_TOO_MANY_PEERS"},
};

TEST_F(CudaDriverTest, NamesTheCallThatFailedAndItsReason) {
  for (const FailingCall& failing : failing_calls) {
    cuda().reset();
    open(with_modules_of_this_build());
    cuda().failing = failing.call;
    cuda().failing_code = failing.code;
    const Status attempted = failing.attempt(*driver_);
    cuda().failing = nullptr;
    ASSERT_FALSE(attempted) << failing.call;
    EXPECT_EQ(attempted.error().kind, failing.kind) << failing.call;
    EXPECT_EQ(attempted.error().message, failing.message);
    EXPECT_EQ(calls(failing.call), 1u) << failing.call;
    driver_.reset();
  }
}

TEST_F(CudaDriverTest, SaysInACheckThatWorkOfBeforeHasLostTheDevice) {
  const auto memory = driver_->allocate(1, 4096);
  ASSERT_TRUE(memory);
  EXPECT_TRUE(driver_->check(*memory));
  cuda().failing = "cuPointerGetAttributes";
  cuda().failing_code = illegal_address;
  const Status lost = driver_->check(*memory);
  cuda().failing = nullptr;
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, ErrorKind::resource);
  const std::string& message = lost.error().message;
  EXPECT_TRUE(message.starts_with("cuPointerGetAttributes of 0x")) << message;
  EXPECT_TRUE(message.ends_with(": CUDA_ERROR_ILLEGAL_ADDRESS")) << message;
}

} // namespace
} // namespace strata::device
