// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf_memory.h"

#include "base/options.h"
#include "base/rounding.h"
#include "device/loader.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

namespace strata::tools {
namespace {

Result<Vector> pages_of_host(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(page, rounded_up(bytes, page)));
  if (memory == nullptr) return Error{ErrorKind::resource, fmt::format("no {} bytes of memory", bytes)};
  return Vector(memory, [](std::byte* held) { std::free(held); });
}

/// Keeps the compiler from leaving out a copy that nobody reads.
void keep(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

} // namespace

Result<PerfMemory> PerfMemory::open(Where where, int rank_in_node) {
  PerfMemory memory(where);
  if (where == Where::host) return memory;
  std::vector<std::string> complaints; // rank 0's library tells them
  auto driver = device::open_driver(options_from_environment(complaints));
  if (!driver) return driver.error();
  memory.driver_ = std::move(*driver);
  if (const Status begun = memory.driver_->initialise(); !begun) return begun.error();
  const std::int32_t devices = memory.driver_->devices();
  if (devices < 1) return Error{ErrorKind::unsupported, "there is no device"};
  memory.device_ = rank_in_node % devices;
  const auto facts = memory.driver_->facts(memory.device_);
  if (!facts) return facts.error();
  memory.name_ = fmt::format("{} memory of {}", where == Where::device ? "device" : "managed", facts->name);
  auto stream = memory.driver_->make_stream(memory.device_);
  if (!stream) return stream.error();
  memory.stream_ = std::move(*stream);
  return memory;
}

Result<Vector> PerfMemory::held(Result<void*> allocated, Status (device::Driver::*free)(void*)) {
  if (!allocated) return allocated.error();
  return Vector(static_cast<std::byte*>(*allocated),
                [driver = driver_, free](std::byte* memory) { static_cast<void>((*driver.*free)(memory)); });
}

Result<Vector> PerfMemory::allocate(std::size_t bytes) {
  switch (where_) {
  case Where::device:
    return held(driver_->allocate(device_, bytes), &device::Driver::free);
  case Where::managed:
    return held(driver_->allocate_managed(device_, bytes), &device::Driver::free_managed);
  default:
    return pages_of_host(bytes);
  }
}

Result<Vector> PerfMemory::allocate_for_host(std::size_t bytes) {
  if (!driver_) return pages_of_host(bytes);
  return held(driver_->allocate_pinned(bytes), &device::Driver::free_pinned);
}

Status PerfMemory::copy(void* to, const void* from, std::size_t bytes, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    if (!stream_) {
      std::memcpy(to, from, bytes);
      keep(to);
    } else if (const Status put = stream_->copy(to, from, bytes); !put) {
      return put;
    }
  }
  return stream_ ? stream_->synchronise() : ok();
}

} // namespace strata::tools
